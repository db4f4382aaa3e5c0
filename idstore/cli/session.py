"""The store that a command works on, and the party that acts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from idstore.cli.call import Call
from idstore.cli.ending import Misuse
from idstore.errors import NotRegistered

if TYPE_CHECKING:
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.allocation import Allocating

T = TypeVar("T")


@contextmanager
def reading(call: Call, *, detached: bool = False) -> "Iterator[tuple[Registry, Party]]":
    """The registry, to read while the block runs: others may read as well, and nobody writes.

    detached  read the state of this moment, and keep nobody from writing: for what takes long.
    Raises StoreUnavailable.
    """
    from idstore.model.party import Party
    from idstore.registry import opening

    party = Party(call.user)
    place = folder(call)
    with opening.open(place, wait=call.wait, read_only=True, detached=detached) as registry:
        tell_behind(call, place, registry.store.behind)
        yield registry, party


def tell_behind(call: Call, place: str | Path, why: str) -> None:
    """Tell the user that some of a store's newest changes are not seen; where that is so, there is a reason."""
    if why:
        call.output.warn(f"what was done last in {place} is not seen: {why}")


def read(call: Call, act: "Callable[[Registry, Party], T]", *, detached: bool = False) -> T:
    """What the function makes of the registry; the store is given up before it is printed. Parameters and errors as for `reading`."""
    with reading(call, detached=detached) as (registry, party):
        return act(registry, party)


def write(call: Call, act: "Callable[[Registry, Party], T]", *, dry: bool = False, begins: bool = True) -> T:
    """Carry out an act, and give the store up.

    Where there is no store, one is made, with the acting party as its first administrator; but an act that fails makes none, nor does one
    that is a dry run. Of one that asks for what is not there, or that ``begins`` nothing in any case, it is said that there is no store.
    Raises StoreUnavailable.
    """
    from idstore.model.party import Party
    from idstore.registry import opening

    place, party = folder(call), Party(call.user)
    if is_vacant(place):
        if not begins:
            _missed(call, place)
        try:
            rehearsed = _rehearse(act, party)
        except NotRegistered:
            _missed(call, place)
            raise
        if dry:
            return rehearsed
        with opening.open(place, administrator=party, wait=call.wait) as registry:
            done = act(registry, party)
            told = _administered(registry, party)
        call.output.say(f"idstore: made a store at {place}, {told}")
        return done
    with opening.open(place, administrator=party, wait=call.wait) as registry:
        return act(registry, party)


def _missed(call: Call, place: Path) -> None:
    """Raise StoreUnavailable, which says that there is no store."""
    from idstore.registry import opening

    opening.open(place, wait=call.wait, read_only=True).close()


def _administered(registry: "Registry", party: "Party") -> str:
    """Who administers a new registry: who made it, unless the act took in a whole one with administrators of its own."""
    names = [known.name for known in registry.parties(party) if known.kind == "administrator"]
    if party.name in names:
        return f"with {party} as its first administrator"
    return f"administered, as what was taken in says, by {', '.join(names) or 'nobody'}"


def allocate(call: Call, act: "Callable[[Allocating, Party], T]") -> T:
    """Carry out one allocation, of which nothing else is asked: as `write`, and much faster where there is a store."""
    from idstore.stores.ahead import Ahead

    if not exists(call):
        return write(call, act)
    ahead = Ahead(folder(call), call.wait)
    try:
        from idstore.model.party import Party
        from idstore.registry import opening

        with opening.allocating(ahead, party := Party(call.user)) as registry:
            return act(registry, party)
    finally:
        ahead.give_up()


def begin(call: Call, administrator: "Party") -> Path:
    """Make a store, or end what was cut short as one was made, and give its folder. Raises AlreadyRegistered if there is one, StoreUnavailable."""
    from idstore.registry import opening

    place = folder(call)
    there = exists(call)
    with opening.open(place, administrator=None if there else administrator, wait=call.wait) as registry:
        if there or not any(known.name == administrator.name for known in registry.parties(administrator)):
            registry.initialize(administrator)
    return place


def _rehearse(act: "Callable[[Registry, Party], T]", party: "Party") -> T:
    """Carry the act out on a store of no consequence. Raises what the act raises."""
    from idstore.registry import opening
    from idstore.stores import scratch

    with scratch.folder() as place, opening.open(place / "store", administrator=party) as registry:
        return act(registry, party)


def folder(call: Call) -> Path:
    """The directory of the store. Raises a usage error for an address."""
    if "://" in call.store:
        raise Misuse(f"{call.store!r} is an address, and a store is a folder; name one with --store")
    return Path(call.store)


def exists(call: Call) -> bool:
    """Whether there is a store."""
    from idstore.stores.founding import exists

    return "://" not in call.store and not is_vacant(Path(call.store)) and exists(Path(call.store))


def is_vacant(place: Path) -> bool:
    """Whether a store can be made there: nothing is there, or nothing but what an earlier attempt left."""
    from idstore.stores.founding import is_vacant

    try:
        return is_vacant(place)
    except OSError:
        return False
