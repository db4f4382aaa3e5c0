"""Tokens: secrets by which parties sign in to a server. The store's folder keeps their hashes.

A token is no event of the registry: it is in no export and no backup, and a revoked one leaves no trace.
"""

import hashlib
import json
import re
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from idstore import arguments
from idstore.errors import InvalidData, NotPermitted, NotRegistered, StoreBusy, StoreUnavailable
from idstore.model import times
from idstore.model.party import Party
from idstore.permissions import conform
from idstore.registry import Registry
from idstore.registry.redaction import Redacted
from idstore.stores.contract import View

FILE: Final = "tokens.sqlite"
MOST: Final = 1000
"""Valid tokens of one party: a server reads all tokens again after each change."""
_WAIT: Final = 10.0
"""Seconds to wait for another process that changes the file."""
_PRIMARY_CODE: Final = 0xFF
_PREFIX: Final = "ids_"
"""First characters of a secret, by which scanners for leaked secrets find it."""
_SECRET: Final = re.compile(_PREFIX + "[A-Za-z0-9_-]{20,}")
_TABLE: Final = """
create table if not exists token (
    id text primary key, hash blob unique not null, party text not null, namespaces text not null,
    acts text not null, created integer not null, expires integer
)"""
_ALL: Final = "select id, party, namespaces, acts, created, expires from token order by created, id"
_HASHED: Final = "select id, party, namespaces, acts, created, expires, hash from token"
_EXPIRED: Final = "delete from token where party = ? and expires <= ?"
_NUMBER: Final = "select count(*) from token where party = ?"


@dataclass(frozen=True, slots=True)
class Token:
    """A token, without its secret.

    id          by which it is listed and revoked.
    namespaces  names or bases of the namespaces that it may change; empty: all.
    acts        the operations that may change something with it; empty: all.
    expires     when it ends; None: never.
    """

    id: str
    party: str
    namespaces: tuple[str, ...]
    acts: tuple[str, ...]
    created: datetime
    expires: datetime | None

    @property
    def is_limited(self) -> bool:
        """Whether it permits less than its party may do, or for a time only."""
        return bool(self.namespaces or self.acts) or self.expires is not None


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token with its secret, which nothing can return again.

    id     by which it is listed and revoked.
    token  the secret.
    party  name of the party that it signs in.
    """

    id: str
    token: str
    party: str


class Tokens:
    """The tokens of the store in a folder. Any process may change them at any time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def add(
        self,
        party: Party,
        namespaces: Sequence[str] = (),
        acts: Sequence[str] = (),
        expires: datetime | None = None,
    ) -> NewToken:
        """Make a token. Nothing can return its secret again. Expired ones of the party are removed.

        Raises NotPermitted: the party has `MOST`.
        """
        made = NewToken(secrets.token_hex(4), _PREFIX + secrets.token_urlsafe(32), party.name)
        row = (
            made.id,
            _hash(made.token),
            party.name,
            json.dumps([*namespaces]),
            json.dumps([*acts]),
            times.now(),
            None if expires is None else times.milliseconds(expires),
        )
        with self._database() as database:
            database.execute(_EXPIRED, (party.name, times.now()))
            [present] = database.execute(_NUMBER, (party.name,)).fetchone()
            if present >= MOST:
                raise NotPermitted(
                    f"{party.name} has {present} tokens, and no more are made for one party; revoke some, or"
                    " wait until one expires",
                    party=party.name,
                    limit=MOST,
                )
            database.execute("insert into token values (?, ?, ?, ?, ?, ?, ?)", row)
        return made

    def make(self) -> None:
        """Make the file, unless it is there. Raises StoreBusy at once: another process changes it."""
        with self._database(wait=0):
            pass

    def all(self) -> list[Token]:
        """Return every token, oldest first."""
        with self._database() as database:
            return [_token(row) for row in database.execute(_ALL)]

    def revoke(self, id: str) -> None:
        """Refuse a token from now on. Raises NotRegistered."""
        with self._database() as database:
            if not database.execute("delete from token where id = ?", (id,)).rowcount:
                raise NotRegistered(id, f"no token {id!r} here; list the tokens")

    def revoke_all(self, party: str) -> None:
        """Refuse the tokens of a party from now on, and remove its name from the file."""
        with self._database() as database:
            database.execute("pragma secure_delete = on")
            database.execute("delete from token where party = ?", (party,))

    @contextmanager
    def _database(self, wait: float = _WAIT) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction. Raises StoreUnavailable, StoreBusy."""
        with _errors(self.path):
            try:
                self.path.touch(mode=0o600)
                conform(self.path)
            except OSError as error:
                raise sqlite3.OperationalError(str(error)) from error
            with closing(sqlite3.connect(self.path, timeout=wait)) as database, database:
                database.execute(_TABLE)
                yield database


class TokenReader:
    """Finds tokens by their secrets, in one thread. It reads them again after any process changed them."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._database: sqlite3.Connection | None = None
        self._version, self._known = -1, dict[bytes, Token]()

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()
            self._database = None
            self._version = -1

    def find(self, secret: str) -> Token | None:
        """Return the valid token with a secret.

        Raises StoreBusy at once: another process changes the file. Raises StoreUnavailable.
        """
        with _errors(self._tokens.path):
            if self._database is None:
                self._tokens.make()
                self._database = sqlite3.connect(self._tokens.path, timeout=0)
            [version] = self._database.execute("pragma data_version").fetchone()
            if version != self._version:
                rows = self._database.execute(_HASHED)
                self._known = {hash: _token(row) for *row, hash in rows}
                self._version = version
        token = self._known.get(_hash(secret))
        expired = token is not None and token.expires is not None and token.expires <= times.current()
        return None if expired else token


def is_token(text: str) -> bool:
    """Return whether a text has the form of a token's secret, valid or not."""
    return text.startswith(_PREFIX)


def without_tokens(text: str) -> str:
    """Return a text with an ellipsis in place of each secret of a token.

    >>> without_tokens("/tokens/ids_6Ydxr2bU3xPWzGdGxJfU8RVUkbZEmOuhLJhRHw9SLDg")
    '/tokens/ids_…'
    """
    return _SECRET.sub(f"{_PREFIX}…", text) if _PREFIX in text else text


@arguments.checks
def add_token(
    registry: Registry,
    party: Party,
    owner: str | None = None,
    namespaces: Sequence[str] = (),
    acts: Sequence[str] = (),
    expires: datetime | None = None,
) -> NewToken:
    """Make a token, and return its secret this once; only its hash is kept.

    owner       the party that it signs in; None: the acting one. Administrators make tokens for others.
    namespaces  names or bases of the namespaces that it may change; empty: all.
    acts        the operations that may change something with it; empty: all.
    expires     when it ends; None: never.
    Raises NotPermitted (also: the party has `MOST` tokens), InvalidData (a moment in the past, no name),
    UnknownNamespace.
    """
    signed = party if owner is None else Party(owner)
    if signed != party:
        registry.only_administrators(party, acting=True)
    for name in namespaces:
        registry.namespace(name)
    if expires is not None and times.checked(expires, "expires") <= times.current():
        raise InvalidData(f"{times.iso(expires)} is in the past; give a later time", expires=expires)
    for one in (party, signed):
        registry.store.read(partial(_check_acting, registry, one))
    return _tokens(registry).add(signed, namespaces, acts, expires)


@arguments.checks
def list_tokens(registry: Registry, party: Party) -> list[Token]:
    """Return the tokens of the party, for administrators those of all parties; oldest first."""
    everything = registry.administers(party)
    return [token for token in _tokens(registry).all() if everything or token.party == party.name]


@arguments.checks
def revoke_token(registry: Registry, token: str, party: Party) -> None:
    """Refuse a token from now on; for its party and administrators.

    token  its number in the list.
    Raises NotRegistered; InvalidData: it is the secret.
    """
    if is_token(token):
        raise InvalidData(
            "this is a token itself; list the tokens, and revoke it by its number", field="token"
        )
    if token not in {one.id for one in list_tokens(registry, party)}:
        raise NotRegistered(token, f"no token {token!r} here; list the tokens")
    _tokens(registry).revoke(token)


@arguments.checks
def redact_party(
    registry: Registry, name: str, reason: str, party: Party, *, dry_run: bool = False
) -> Redacted:
    """Replace the name of a party by a pseudonym, and revoke its tokens; only administrators may.

    Parameters, result and errors as of `Redaction.redact_party`.
    """
    if dry_run:
        return registry.redact_party(name, reason, party, dry_run=True)
    registry.redact_party(name, reason, party, dry_run=True)  # it is possible
    _tokens(registry).revoke_all(name)
    redacted = registry.redact_party(name, reason, party)
    _tokens(registry).revoke_all(name)  # those that were added meanwhile
    return redacted


def _check_acting(registry: Registry, party: Party, view: View) -> None:
    registry.core.check_acting(view, party)


def _tokens(registry: Registry) -> Tokens:
    return Tokens(registry.store.path)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Raise StoreUnavailable if the file of the tokens cannot be used, StoreBusy if that may pass."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE == sqlite3.SQLITE_BUSY:
            raise StoreBusy(
                f"another process is changing the tokens in {path}; try again", path=str(path)
            ) from error
        raise StoreUnavailable(
            f"the tokens in {path} cannot be used: {error}; check the file and its permissions",
            path=str(path),
        ) from error


def _hash(secret: str) -> bytes:
    """Return the stored hash: secrets have 256 random bits, so that one round of SHA-256 suffices."""
    return hashlib.sha256(secret.encode()).digest()


def _token(row: Sequence[object]) -> Token:
    id, party, namespaces, acts, created, expires = row
    return Token(
        str(id),
        str(party),
        tuple(json.loads(str(namespaces))),
        tuple(json.loads(str(acts))),
        times.of(int(str(created))),
        None if expires is None else times.of(int(str(expires))),
    )
