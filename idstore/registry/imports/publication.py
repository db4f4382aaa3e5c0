"""Import of a publication that lists identifiers and states how they are related, all or none."""

from collections.abc import Iterable

from idstore.model.party import Party
from idstore.registry.core import Core, DryRunEnded, Part
from idstore.registry.imports.adopt import Adoption, Published, PublisherImport
from idstore.registry.imports.relate import Related, RelationImport, Stated


class PublicationImport(Part):
    """Import of a whole publication."""

    def publish(
        self,
        name: str,
        published: Iterable[Published],
        stated: Iterable[Stated],
        party: Party,
        note: str,
        *,
        dry_run: bool = False,
        force: bool = False,
    ) -> tuple[Adoption, Related]:
        """Bring a namespace up to date with a list and with statements about its entries.

        Parameters and errors as of `PublisherImport.adopt` and `RelationImport.relate`. Without differences
        nothing is written.
        """
        self.core.only_administrators(party, acting=True)
        result: tuple[Adoption, Related] | None = None
        try:
            with self.store.bulk(dry_run=dry_run) as bulk:
                core = Core(bulk)
                adoption = PublisherImport(core).adopt_within(bulk, name, published, party, note, force=force)
                related = RelationImport(core).relate_within(bulk, name, stated, party, note)
                result = adoption, related
                if not (adoption.changes or related.changes):
                    raise DryRunEnded  # noqa: TRY301 the bulk has no effect
        except DryRunEnded:
            pass
        assert result is not None
        return result
