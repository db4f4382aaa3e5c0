"""What a server tells of created identifiers to parties that may not see them: nothing.

Each declared operation is asked about a hidden and an absent identifier, in every parameter that takes one.
"""

import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from serving import BOB, Reply, Server

import idstore
from idstore import Registry
from idstore.errors import IdstoreError
from idstore.model.party import NOBODY, Party
from idstore.operations.declared import OPERATIONS
from idstore.operations.wire import dump
from idstore.registry.feed import FeedStep
from idstore.registry.handle_values import Draft
from idstore.server import problems
from idstore.server.sign_in import Caller
from idstore.tokens import Tokens

CAROL = Party("carol")
HANDLE: Final = "https://hdl.handle.net/10.1000/"
WORD: Final = "http://www.w3.org/2004/02/skos/core#exactMatch"
NOW: Final = "2999-01-01"
ABOUT: Final[dict[str, dict[str, Any]]] = {
    "mint": {"namespace": "rdl", "target": "{}"},
    "mint_once": {"namespace": "rdl", "target": "{}"},
    "mint_several": {"namespace": "rdl", "count": 1, "target": "{}"},
    "register": {"namespace": "h", "label": "of-{}", "target": "{}"},
    "add_version": {"work": "{}", "number": "1.0"},
    "replace": {"id": "{}", "metadata": {"issn": "1936-0851"}},
    "identify": {"id": "{}"},
    "show": {"id": "{}"},
    "remarks": {"id": "{}"},
    "list": {"id": "{}"},
    "list_bound": {"text": "{}", "id": "{}"},
    "bound_to": {"text": "{}"},
    "shared_targets": {"ids": ["{}"], "most": 1},
    "resolve": {"id": "{}"},
    "citation": {"id": "{}"},
    "cite": {"id": "{}"},
    "file_name": {"id": "{}"},
    "authority": {"id": "{}"},
    "versions": {"work": "{}"},
    "parts": {"id": "{}"},
    "values": {"id": "{}"},
    "at": {"id": "{}", "moment": NOW},
    "target": {"id": "{}", "uri": "http://x.example.org/"},
    "name": {"id": "{}", "name": "x"},
    "bind": {"id": "{}", "target": "http://x.example.org/"},
    "unbind": {"id": "{}", "target": "http://x.example.org/"},
    "comment": {"id": "{}", "remark": "x"},
    "vet": {"id": "{}"},
    "set_value": {"id": "{}", "type": "DESC", "data": "x"},
    "unset_values": {"id": "{}", "indexes": [1]},
    "delete_handle": {"id": "{}"},
    "fixate": {"ids": ["{}"]},
    "release": {"id": "{}"},
    "deprecate": {"id": "{}", "reason": "x", "successors": ["{}"]},
    "supersede": {"id": "{}", "successors": ["{}"]},
    "undeprecate": {"id": "{}", "successors": ["{}"]},
    "transfer": {"id": "{}", "receiver": "bob"},
    "grant": {"id": "{}", "grantee": "dan"},
    "ungrant": {"id": "{}", "grantee": "dan"},
    "revoke": {"id": "{}", "reason": "x"},
    "redact_text": {"text": "{}", "reason": "x", "dryRun": True},
    "log": {"id": "{}"},
    "news": {"id": "{}"},
    "events_since": {"id": "{}"},
    "query": {"text": "SELECT * {{ {{ <{}> ?p ?o }} UNION {{ ?s ?q <{}> }} }}"},
}
"""Operations with identifiers, and what is sent; ``{}`` stands for the identifier."""
ELSEWHERE: Final = {*OPERATIONS} - {*ABOUT}
IDENTIFIERS: Final = {"id", "ids", "text", "texts", "work", "works", "successors", "parent", "below"}
"""Names of parameters for identifiers."""


def test_every_operation_with_an_identifier_is_asked() -> None:
    assert {*ABOUT} <= {*OPERATIONS}
    for name in ELSEWHERE - {"all_at", "comment_namespace", "revoke_token"}:  # it takes the id of a token
        assert not IDENTIFIERS & {one.name for one in OPERATIONS[name].parameters}, name


def filled(value: Any, id: str) -> Any:
    match value:
        case str():
            return value.format(*[id] * 4)
        case list():
            return [filled(one, id) for one in value]
        case dict():
            return {key: filled(one, id) for key, one in value.items()}
    return value


def ask(server: Server, name: str, id: str, **how: Any) -> Reply:
    """Call an operation about an identifier."""
    operation, sent = OPERATIONS[name], filled(ABOUT[name], id)
    path = "/api/v1" + re.sub(r"\{(\w+)\}", lambda found: str(sent.pop(found[1])), operation.path)
    if operation.method == "GET":
        return server.ask("GET", path, query=sent, **how)
    return server.ask(operation.method, path, sent, **how)


def comparable(name: str, reply: Reply, id: str) -> tuple[object, ...]:
    """Return the whole answer without the time, and without the identifier that was asked for."""
    headers = {**reply.headers, "date": ""}
    body = reply.body
    if "namespace" in ABOUT[name]:  # a new identifier
        body = re.sub(rb'"(R\d{10}|[-0-9TZ:.]{24}|http://rdl[^"]+|urn:uuid:[^"]+)"', b'"new"', body)
    return (
        reply.status,
        headers,
        body.replace(id.encode(), b"ID").replace(id[len(HANDLE) :].encode(), b"LABEL"),
    )


class Hidden:
    """Makes created identifiers of carol, and names absent ones of the same length."""

    def __init__(self, server: Server) -> None:
        self.server, self.token, self.made = server, server.token(CAROL), 0

    def make(self) -> str:
        self.made += 1
        label = f"there{self.made:04}"
        path = "/api/v1/namespaces/h/registrations"
        made = self.server.ask("POST", path, {"label": label, "target": WORD}, token=self.token)
        assert made.status == 201, made.body
        return f"{HANDLE}{label}"

    def absent(self) -> str:
        self.made += 1
        return f"{HANDLE}never{self.made:04}"


@pytest.fixture(scope="session")
def hidden(server: Server) -> Hidden:
    return Hidden(server)


@pytest.mark.parametrize("name", ABOUT)
def test_a_hidden_identifier_is_answered_as_an_absent_one(
    server: Server, hidden: Hidden, bob: str, limited: str, name: str
) -> None:
    there, never = hidden.make(), hidden.absent()
    for token in (None, bob, limited):
        found, absent = (ask(server, name, id, token=token) for id in (there, never))
        assert comparable(name, found, there) == comparable(name, absent, never)
    owner = ask(server, name, there, token=hidden.token)
    assert owner.status != 404 or name in ("unbind", "ungrant"), owner.body


@pytest.fixture(scope="session")
def limited(server: Server) -> str:
    return server.token(Party("bob"), namespaces=["rdl", "h"], acts=[*OPERATIONS])


def test_tokens_of_other_parties_are_absent(server: Server, bob: str, hidden: Hidden) -> None:
    [id, *_] = [token.id for token in Tokens(server.store).all() if token.party == "carol"]
    never = "0" * len(id)
    asked = [server.ask("DELETE", f"/api/v1/tokens/{one}", token=bob) for one in (id, never)]
    answers = [
        (reply.status, {**reply.headers, "date": ""}, reply.body.replace(one.encode(), b"ID"))
        for reply, one in zip(asked, (id, never), strict=True)
    ]
    assert answers[0] == answers[1]
    assert answers[0][0] == 404
    assert server.ask("GET", "/api/v1/identifiers", token=hidden.token).status == 200


# steps


COUNTED: Final = (
    "idstore.registry",
    "idstore.model",
    "idstore.schemes",
    "idstore.server",
    "idstore.operations",
)

FEW: Final = {"shared_targets": 5}
"""Calls by which answers may differ, where these are not 3: one or two microseconds."""


class Steps:
    """Counts calls of functions of the registry and of the server, in all threads made from now."""

    def __init__(self) -> None:
        self.counts, self.number = False, 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if self.counts and event in ("call", "c_call"):
            self.number += str(frame.f_globals.get("__name__")).startswith(COUNTED)

    def of(self, act: Callable[[], object]) -> int:
        self.number, self.counts = 0, True
        sys.setprofile(self)
        try:
            act()
        finally:
            sys.setprofile(None)
            self.counts = False
        return self.number


@pytest.fixture(scope="module")
def counted(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Steps, Registry]]:
    """Yield a registry that counts the steps of a writer as well."""
    store = tmp_path_factory.mktemp("steps") / "store"
    shutil.copytree(prepared, store)
    steps = Steps()
    threading.setprofile(steps)
    try:
        with idstore.open(store) as registry:
            registry.register("h", "there0001", CAROL, idstore.Request(target=WORD))
            for number in range(9):
                registry.bind("h:there0001", idstore.Statement(f"http://y.example.org/{number}"), CAROL)
            registry.register("h", "there0002", CAROL)
            registry.release("h:there0002", CAROL)
            yield steps, registry
    finally:
        threading.setprofile(None)


def answer(registry: Registry, name: str, id: str, party: Party) -> str:
    """Return the error of an operation, or its result, as a server's thread makes them."""
    operation = OPERATIONS[name]
    arguments = operation.arguments(filled(ABOUT[name], id))
    try:
        Caller(party).check(operation, registry, arguments)
        if operation.knows_party:
            arguments["party"] = party
        result = operation.run(registry, **arguments)
        return str([dump(item, registry.home) for item in result] if operation.streams else result)
    except IdstoreError as error:
        return str(problems.describe(error))


@pytest.mark.parametrize(
    "name", sorted({*ABOUT} - {"mint", "mint_once", "mint_several", "register", "query", "log"})
)
def test_a_hidden_identifier_takes_as_many_steps_as_an_absent_one(
    counted: tuple[Steps, Registry], name: str
) -> None:
    steps, registry = counted
    for party in (NOBODY, BOB):
        needed = {}
        for label in ("there0001", "there0002", "never0001"):
            ask = partial(answer, registry, name, HANDLE + label, party)
            ask()  # what is kept from the first time
            needed[label] = steps.of(ask)
        assert max(needed.values()) - min(needed.values()) <= FEW.get(name, 3), needed


def test_hidden_drafts_add_no_step_to_public_answers(counted: tuple[Steps, Registry]) -> None:
    steps, registry = counted
    dora = Party("dora")
    public = registry.mint("rdl", CAROL).iri
    registry.fixate([public], CAROL)

    def resolved() -> None:
        with pytest.raises(IdstoreError):
            registry.resolve(public, BOB)

    def fed() -> list[FeedStep]:
        return list(registry.steps(NOBODY, newest - 1))

    needed = []
    for number in (1, 40):
        for _ in range(number):
            draft = registry.mint("rdl", dora).iri
            registry.supersede(draft, [public], dora)
        shown = registry.mint("rdl", dora).iri
        registry.fixate([shown], dora)
        newest = [*registry.steps(NOBODY)][-1].number
        assert str(dora.name) in str(fed())
        resolved()
        needed.append((steps.of(resolved), steps.of(fed)))
        dora = Party("dara")  # of the same length, and new as well
    (few, shortest), (many, longest) = needed
    assert abs(many - few) <= 3
    assert abs(longest - shortest) <= 3, needed


@pytest.mark.parametrize("name", ["remarks", "authority", "at", "values", "show", "resolve", "citation"])
def test_what_is_private_about_a_published_identifier_adds_no_step(
    counted: tuple[Steps, Registry], name: str
) -> None:
    steps, registry = counted
    needed = []
    for hidden in (0, 30):
        label = f"public{hidden:02}{name}"
        iri = registry.register("h", label, CAROL, idstore.Request(target=WORD)).iri
        registry.fixate([iri], CAROL)
        for number in range(hidden):
            registry.comment(iri, f"remark {number}", CAROL, internal=True)
            registry.set_value(iri, Draft("DESC", "secret", 9 + number, permissions="1100"), CAROL)
        for party in (NOBODY, BOB):
            ask = partial(answer, registry, name, iri, party)
            ask()
            needed.append(steps.of(ask))
    assert abs(needed[0] - needed[2]) <= 3 and abs(needed[1] - needed[3]) <= 3, needed
