"""Access to the store of a command, for the acting party."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, ParamSpec, TypeVar, cast

from idstore.cli.call import Call
from idstore.cli.termination import UsageError
from idstore.errors import (
    AlreadyRegistered,
    InvalidData,
    LocalOnly,
    NotRegistered,
    StoreBusy,
    StoreUnavailable,
)
from idstore.remedies import Remedy

if TYPE_CHECKING:
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.allocator import Allocator

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A", bound="Allocator")
_GLANCE: Final = 1.0
"""Seconds after which a command that waits for the folder looks for a server: one may be starting."""


def acting_party(call: Call) -> "Party":
    """Return the acting party; a server knows by the token which one it is."""
    from idstore.model.party import SIGNED_IN, Party

    return SIGNED_IN if is_address(call) and not call.names_user else Party(call.user)


def is_address(call: Call) -> bool:
    """Return whether the store is reached by an address, and not as a folder."""
    return "://" in call.store


def _connect(call: Call) -> "Registry | None":
    """Connect to the server of the store; None: no server holds its folder.

    Raises UsageError (the address is none), NotPermitted (a token over plain HTTP).
    """
    from idstore.store_socket import is_served

    if not is_address(call) and not is_served(Path(call.store)):
        return None
    from idstore import remote

    if is_address(call):
        try:
            return remote.connect(call.store, token=call.token)
        except InvalidData as error:
            raise UsageError(f"--store: {error.message}") from None
    return remote.connect_folder(Path(call.store))


def export_from(call: Call, address: str, target: IO[bytes]) -> None:
    """Write what the server at an address shows, as N-Quads.

    The token and the acting party are for the server of the store: another one shows what is public.
    Raises UsageError (the address is none), StoreUnavailable.
    """
    from idstore import remote
    from idstore.model.party import NOBODY

    try:
        own = is_address(call) and remote.is_same_server(address, call.store)
        registry = remote.connect(address, token=call.token if own else None)
    except InvalidData as error:
        raise UsageError(error.message) from None
    with registry:
        registry.export(target, acting_party(call) if own else NOBODY, format="nquads")


@contextmanager
def open_reader(call: Call, *, detached: bool = False) -> "Iterator[tuple[Registry, Party]]":
    """Open the registry to read. Meanwhile other processes can read, but not write.

    detached  read the current state and let other processes write: for long reads.

    Raises StoreUnavailable.
    """
    from idstore import opening

    party = acting_party(call)
    if is_address(call):
        with cast("Registry", _connect(call)) as registry:
            yield registry, party
        return
    path = folder(call)
    with (
        store_option_hint(path),
        opening.open(path, wait=call.wait, mode="read" if detached else "shared") as registry,
    ):
        warn_if_behind(call, path, registry.store.behind)
        yield registry, party


def warn_if_behind(call: Call, store: str | Path, reason: str) -> None:
    """Warn that the latest changes of a store are not visible, unless ``reason`` is empty."""
    if reason:
        call.output.warn(f"the latest changes in {store} are not visible: {reason}")


def read(call: Call, act: "Callable[[Registry, Party], T]", *, detached: bool = False) -> T:
    """Return the result of a function of the registry, and close the store.

    Parameters and errors: see `open_reader`.
    """
    served = _connect(call)
    if served is not None:
        with served as registry, suppress(*([] if is_address(call) else [LocalOnly])):
            return act(registry, acting_party(call))
    with open_reader(call, detached=detached) as (registry, party):
        return act(registry, party)


def write(
    call: Call,
    act: "Callable[[Registry, Party], T]",
    *,
    dry_run: bool = False,
    creates: bool = True,
    changes: "Callable[[T], bool]" = lambda _: True,
) -> T:
    """Carry out an act on the registry, and close the store.

    If there is no store, it is created with the acting party as its first administrator; but not if the act
    fails or is a dry run.

    dry_run  whether the act changes nothing.
    creates  whether the act can succeed in an empty store; otherwise a missing store is an error.
    changes  whether an act with that result changes something; otherwise no store is created.

    Raises StoreUnavailable; it says that there is no store if the act needs an entry that a new store does
    not have.
    """
    served = _connect(call)
    if served is not None:
        with served as registry:
            return act(registry, acting_party(call))
    path, party = folder(call), acting_party(call)
    if is_vacant(path):
        if not creates:
            _raise_no_store(call, path)
        try:
            result = _rehearse(act, party)
        except NotRegistered:
            _raise_no_store(call, path)
            raise
        if dry_run or not changes(result):
            return result
        with _open_writer(path, call.wait, party) as registry:
            result = act(registry, party)
            administrators = _administrators(registry, party)
        call.output.info(f"idstore: made a store at {path}, {administrators}")
        warn_if_open(call, path)
        return result
    with _free_or_served(call, lambda wait: _open_writer(path, wait, party)) as registry:
        return act(registry, party)


def allocate(call: Call, act: "Callable[[Allocator, Party], T]") -> T:
    """Carry out an act that only allocates, and close the store. Errors: see `write`."""
    from idstore import opening

    served = _connect(call)
    if served is not None:
        with served as registry:
            return act(registry, acting_party(call))
    path, party = folder(call), acting_party(call)
    if is_vacant(path):
        return write(call, act)
    with (
        store_option_hint(path),
        _free_or_served(
            call, lambda wait: opening.open_allocator(path, administrator=party, wait=wait)
        ) as registry,
    ):
        return act(registry, party)


@contextmanager
def _free_or_served(call: Call, open_folder: "Callable[[float], AbstractContextManager[A]]") -> "Iterator[A]":
    """Open the folder of the store, or connect to a server that began to serve it during the wait.

    open_folder  takes the seconds to wait for another process that holds the store.
    Raises StoreBusy, StoreUnavailable.
    """
    glance = min(_GLANCE, call.wait)
    with ExitStack() as stack:
        for wait, is_last in ((glance, glance == call.wait), (call.wait - glance, True)):
            try:
                registry = stack.enter_context(open_folder(wait))
                break
            except StoreBusy:
                served = _connect(call)
                if served is not None:
                    registry = stack.enter_context(cast("AbstractContextManager[A]", served))
                    break
                if is_last:
                    raise
        yield registry


@contextmanager
def _open_writer(path: Path, wait: float, administrator: "Party | None") -> "Iterator[Registry]":
    """Open the registry to change it. Parameters and errors: see `idstore.opening.open`."""
    from idstore import opening

    with (
        store_option_hint(path),
        opening.open(path, administrator=administrator, wait=wait) as registry,
    ):
        yield registry


@contextmanager
def store_option_hint(path: Path) -> Iterator[None]:
    """Name the option in an error that asks for another folder for the store. Raises StoreUnavailable."""
    try:
        yield
    except StoreUnavailable as error:
        if error.fields.get("path") == str(path) and error.remedy is Remedy.NAME_FOLDER:
            error.remedy = Remedy.NAME_STORE
        raise


def _raise_no_store(call: Call, path: Path) -> None:
    """Raise StoreUnavailable, which says that there is no store."""
    from idstore import opening

    with store_option_hint(path):
        opening.open(path, wait=call.wait, mode="shared").close()


def _administrators(registry: "Registry", party: "Party") -> str:
    """Return who administers a new registry: its creator, or the administrators of an imported registry."""
    names = [member.name for member in registry.parties(party) if member.kind == "administrator"]
    if party.name in names:
        return f"with {party} as its first administrator"
    return f"with the administrators of the imported registry: {', '.join(names) or 'none'}"


def initialize(call: Call, administrator: "Party") -> Path:
    """Create a store, or complete an interrupted creation, and return its folder.

    Raises AlreadyRegistered: the store exists. Raises StoreUnavailable.
    """
    from idstore.store_socket import is_served

    path = folder(call)
    with store_option_hint(path):
        existing = exists(call)
    if existing and is_served(path):
        raise AlreadyRegistered(f"a server holds the store at {path}, which is initialised; use it as it is")
    with _open_writer(path, call.wait, None if existing else administrator) as registry:
        if existing or administrator.name not in {party.name for party in registry.parties(administrator)}:
            registry.initialize(administrator)
    warn_if_open(call, path)
    return path


def warn_if_open(call: Call, path: Path) -> None:
    """Warn that the folder of a new store lets accounts in that cannot use the store."""
    from idstore import opening

    if opening.is_open_to_others(path):
        call.output.warn(
            f"{path} lets every account of this machine in; the files of the store are for its owner and its"
            f" group, and chmod o= {path} keeps others from the names of the files, too"
        )


def _rehearse(act: "Callable[[Registry, Party], T]", party: "Party") -> T:
    """Carry out an act on a temporary store. Raises the errors of the act."""
    from idstore import opening, scratch

    with scratch.folder() as path, opening.open(path / "store", administrator=party) as registry:
        return act(registry, party)


def folder(call: Call) -> Path:
    """Return the folder of the store. Raises UsageError: the store is an address."""
    if "://" in call.store:
        raise UsageError(
            f"{call.store!r} is an address, and this needs the folder of a store; name one with --store"
        )
    return Path(call.store)


def exists(call: Call) -> bool:
    """Return whether the store exists; one that is reached by an address does."""
    from idstore import opening

    return is_address(call) or (not is_vacant(Path(call.store)) and opening.exists(call.store))


def is_vacant(path: Path) -> bool:
    """Return whether a store can be created in a folder: it is missing, or holds no data."""
    from idstore import opening

    try:
        return opening.is_vacant(path)
    except OSError:
        return False
