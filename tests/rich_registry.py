"""A registry with every scheme, with published and hidden data of several parties."""

from decimal import Decimal
from typing import Final

from idstore import Party, Registry, Request, Statement
from idstore.registry.handle_values import Draft

ROOT: Final = Party("root")
ANN: Final = Party("ann")
BEN: Final = Party("ben")
STAFF: Final = Party("staff")
EVE: Final = Party("eve")
"""A party without grants, which sees only what is public."""
SECRET: Final = "secret"
"""A word in each text that only grant lists see."""
WIKIDATA: Final = "http://www.wikidata.org/entity/"
MEDIA_TYPE: Final = "https://www.iana.org/assignments/media-types/application/pdf"


def fill(registry: Registry) -> dict[str, str]:
    """Fill a new registry of the administrator ROOT. Returns the IRIs of its identifiers by short names."""
    _add_parties_and_namespaces(registry)
    return {
        **_things(registry),
        **_handles(registry),
        **_formats(registry),
        **_articles(registry),
    }


def _add_parties_and_namespaces(registry: Registry) -> None:
    registry.add_party(ANN, ROOT)
    registry.add_party(BEN, ROOT)
    registry.add_party(STAFF, ROOT, "group")
    registry.join(ANN, STAFF, ROOT)
    registry.join(BEN, STAFF, ROOT)
    for name, base, scheme in (
        ("rdl", "http://rdl.example.org/data#", "rdswip"),
        ("doc", "12345", "handle"),
        ("pilin", "102.100.272", "pilin"),
        ("own", "http://formats.example.org/", "puid"),
        ("sp", "http://journals.example.org/", "scholars-portal"),
    ):
        registry.add_namespace(name, base, scheme, ROOT)
    registry.set_namespace(
        "rdl",
        {
            "licence": "https://creativecommons.org/publicdomain/zero/1.0/",
            "publisher": "The Example Library",
            "contact": "curator@example.org",
            "description": "Things",
            "policy": "never reused",
        },
        ROOT,
    )
    registry.add_type("own", "lan", "programming language", ROOT)
    registry.allow("pilin", ["staff"], ROOT, per_minute=60)
    registry.transfer_namespace("sp", ANN, ROOT)
    registry.add_storage("ejournals", "/mnt/pillar", ROOT)
    registry.place("ejournals", "wiley", 5, ROOT)
    registry.suspend(Party("mallory"), "did harm", ROOT)


def _things(registry: Registry) -> dict[str, str]:
    """Add RDS/WIP identifiers: published, replaced, revoked, drafts."""

    def mint(party: Party, **fields: object) -> str:
        return registry.mint("rdl", party, Request(**fields)).iri  # type: ignore[arg-type]

    things = {
        "valve": mint(ANN, name="valve", lang="en", names={"de-AT": "Ventil"}, target="http://example.org/1"),
        "pump": mint(ANN, name="pump", lang="en", comment="first draft"),
        "pump2": mint(BEN, name="pump", lang="en"),
        "old": mint(ANN, name="old valve", lang="en"),
        "older": mint(ANN),
        "abuse": mint(BEN, name="spam"),
        "draft": mint(ANN, name=f"{SECRET} draft", comment=f"{SECRET} comment", target=f"urn:x:{SECRET}"),
        "offered": mint(BEN, name=f"{SECRET} offer"),
    }
    registry.target(things["valve"], "http://example.org/2", ANN)
    registry.bind(things["valve"], Statement(WIKIDATA + "Q1"), ANN)
    registry.bind(things["draft"], Statement(WIKIDATA + f"Q1-{SECRET}", force=True), ANN)
    registry.comment(things["valve"], f"{SECRET} remark", ANN, internal=True)
    registry.fixate([things[name] for name in ("valve", "pump", "old", "older")], ANN)
    registry.fixate([things["pump2"], things["abuse"]], BEN)
    registry.bind(
        things["pump"],
        Statement(
            WIKIDATA + "Q2",
            "skos:closeMatch",
            "like it",
            Decimal("0.5"),
            "semapv:LexicalMatching",
            "Ada",
        ),
        BEN,
    )
    registry.bind(things["pump2"], Statement(WIKIDATA + "Q1", "owl:sameAs"), BEN)
    registry.deprecate(things["old"], "worn out", ANN, [things["valve"]])
    registry.supersede(things["older"], [things["old"]], ANN)
    registry.revoke(things["abuse"], "is advertising", ROOT)
    registry.vet(things["valve"], BEN, "compared with the paper")
    registry.grant(things["draft"], BEN, ANN, bind=True)
    registry.transfer(things["offered"], ANN, BEN)
    return things


def _handles(registry: Registry) -> dict[str, str]:
    """Add handles with public and private values, versions of a work, and a PILIN handle."""
    handle = registry.register("doc", "report", ANN, Request(target="http://example.org/report", fixate=True))
    registry.set_value(handle, Draft("EMAIL", "ann@example.org"), ANN)
    registry.set_value(handle, Draft("URL", f"http://example.org/{SECRET}", permissions="1100"), ANN)
    first = registry.add_version(handle, "1.0", ANN, Request(target="http://example.org/report/1"))
    second = registry.add_version(handle, "2.0", ANN, Request(target="http://example.net/report/2"))
    registry.fixate([first, second], ANN)
    pilin = registry.mint("pilin", BEN, Request(target="http://example.org/1", fixate=True))
    return {name: record.iri for name, record in {"report": handle, "pilin": pilin}.items()} | {
        "first": first.iri,
        "second": second.iri,
    }


def _formats(registry: Registry) -> dict[str, str]:
    """Add formats, one with a media type."""

    def mint(name: str, type: str = "fmt") -> str:
        request = Request(name=name, metadata={"type": type}, fixate=type == "fmt")
        return registry.mint("own", BEN, request).iri

    formats = {"pdf": mint("Example PDF"), "txt": mint("Plain text"), "xpdf": mint(f"{SECRET} PDF", "x-fmt")}
    registry.bind(formats["pdf"], Statement(MEDIA_TYPE, "skos:broadMatch"), BEN)
    registry.bind(formats["pdf"], Statement(formats["txt"], "ids:hasPriorityOver"), BEN)
    return formats


def _articles(registry: Registry) -> dict[str, str]:
    """Add an article with its file, and an article of another journal."""
    one = {"issn": "1936-0851", "volume": "4", "issue": "10", "page": "6153", "title": "Of graphs"}
    article = registry.mint("sp", ANN, Request(name="Of graphs", metadata=one, fixate=True))
    other = registry.mint(
        "sp", ANN, Request(name="Of trees", metadata={**one, "issn": "0028-0836"}, fixate=True)
    )
    below = {"parent": article.iri, "kind": "pdf"}
    file = registry.mint("sp", ANN, Request(metadata=below, fixate=True))
    return {"article": article.iri, "other": other.iri, "file": file.iri}
