"""Long work over a server: as on the folder, with its progress, and no longer than its client stays."""

import io
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import pytest
from engine_files import engine_of
from pyoxigraph import BlankNode, Literal, NamedNode, Triple
from serving import ALICE, BOB, Server
from test_client_connections import server as raw_server
from test_client_connections import take

pytest.importorskip("uvicorn", reason="the extra server is not installed")

import anyio

import idstore
from idstore import Party, Registry
from idstore.errors import InvalidData, NotPermitted, OutcomeUnknown, SignInRequired, StoreUnavailable
from idstore.model.party import NOBODY
from idstore.operations.operation import ApiOperation, Rights
from idstore.operations.wire import dump, load
from idstore.progress import Progress
from idstore.remote import RemoteRegistry, connect_folder
from idstore.server import lines
from idstore.server.transfers import Abandoned, Download
from idstore.validation.registries import check
from idstore.validation.report import ValidationReport, ValidationResult
from idstore.vocabulary import IDS

CAROL = Party("carol")


@pytest.fixture(scope="module")
def damaged(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve a store in which a created identifier of bob, and a public one, have lost a triple."""
    folder = tmp_path_factory.mktemp("damaged") / "store"
    shutil.copytree(prepared, folder)
    with idstore.open(folder) as registry:
        hidden, public = (registry.mint("rdl", BOB, idstore.Request(name="valve")).iri for _ in "12")
        registry.fixate([public], BOB)
        with engine_of(registry) as engine:
            for iri, predicate in ((hidden, IDS.owner), (public, IDS.stage)):
                for quad in engine.quads(NamedNode(iri), predicate):
                    engine.remove(quad)
        registry.close()
    with Server(folder) as server:
        yield server


def test_a_party_gets_the_findings_that_it_gets_on_the_folder(damaged: Server) -> None:
    counts = []
    with idstore.open(damaged.store, mode="read") as near, ExitStack() as stack:
        socket = stack.enter_context(connect_folder(damaged.store))
        for party in (ALICE, BOB, CAROL):
            far = stack.enter_context(idstore.connect(damaged.address, token=damaged.token(party)))
            found = check(near, party)
            assert far.validate(party) == socket.validate(party) == found
            counts.append(len(found.results))
    assert counts[0] == counts[1] > counts[2] > 0


def test_progress_tells_nothing_of_what_is_hidden(server: Server, alice: str) -> None:
    def steps() -> list[tuple[str, int]]:
        told: list[tuple[str, int]] = []
        with idstore.connect(server.address, token=server.token(CAROL)) as far:
            far.validate(CAROL, lambda what, _, total: told.append((what, total)))
        return list(dict.fromkeys(told))

    before = steps()
    with idstore.connect(server.address, token=alice) as far:
        for number in range(3):
            hidden = far.register("h", f"of-progress-{number}", ALICE).iri
            far.grant(hidden, Party(f"friend{number}"), ALICE)
    assert steps() == before != []


def test_who_has_not_signed_in_validates_nothing(damaged: Server) -> None:
    assert damaged.ask("GET", "/api/v1/validate").status == 401
    with idstore.connect(damaged.address) as nobody, pytest.raises(SignInRequired):
        nobody.validate(NOBODY)


def test_changes_are_for_administrators(damaged: Server) -> None:
    token = damaged.token(BOB)
    with idstore.connect(damaged.address, token=token) as far, pytest.raises(NotPermitted):
        far.validate_changed(BOB)
    reply = damaged.ask("GET", "/api/v1/validate-changed", token=token)
    assert (reply.status, reply.json["error"]) == (403, "not-permitted")


def test_the_checked_position_is_kept_on_the_server(server: Server, alice: str) -> None:
    with idstore.connect(server.address, token=alice) as far:
        first = far.validate_changed(ALICE)
        assert first.report.conforms
        far.keep_checked(first.sequence, first.shapes, ALICE)
        far.register("h", "of-changes", ALICE)
        assert far.validate_changed(ALICE).checked == 2  # the record and its event


def test_progress_comes_from_the_server(server: Server, alice: str) -> None:
    with idstore.connect(server.address, token=alice) as far:
        for act in (far.verify, far.validate, far.validate_changed, far.digest, far.repair_counters):
            told: list[tuple[str, int, int]] = []
            result = act(ALICE, progress=lambda *step, told=told: told.append(step))
            assert result is None or [result] if not isinstance(result, Iterator) else [*result] == []
            assert told and all(isinstance(one[0], str) for one in told), act


def test_an_answer_passes_a_proxy_line_by_line(server: Server, alice: str) -> None:
    reply = server.ask("GET", "/api/v1/validate", token=alice)
    assert reply.headers["content-type"] == "application/x-ndjson"
    assert (reply.headers["cache-control"], reply.headers["x-accel-buffering"]) == ("private, no-store", "no")
    *steps, last = [json.loads(line) for line in reply.body.splitlines()]
    assert last == {"results": [], "complete": True}
    assert {*map(tuple, steps)} == {("progress",)}


@pytest.mark.parametrize(
    "node",
    [
        NamedNode("http://x.example.org/é"),
        BlankNode("b1"),
        Literal('quoted " and\nbroken \\'),
        Literal("valve", language="en-gb"),
        Literal("1.50", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#decimal")),
        Triple(NamedNode("x:s"), NamedNode("x:p"), Triple(BlankNode("b"), NamedNode("x:q"), Literal("o"))),
    ],
    ids=str,
)
def test_findings_survive_the_way_back(node: Any) -> None:
    result = ValidationResult(node, "<x:p>/<x:q>", node, "x:Shape", "name", "minCount", "wrong", "Warning")
    report = ValidationReport(
        (result, ValidationResult(node, None, None, "x:S", "", "or", "wrong")), complete=False
    )
    sent = json.loads(json.dumps(dump(report, home)))
    assert load(ValidationReport, sent) == report


def home(_: object) -> Any:
    raise AssertionError("no record")


def operation(run: Callable[..., Any]) -> ApiOperation:
    return ApiOperation("verify", Rights.EVERYONE, function=run)


def told(run: Callable[..., Any], is_abandoned: Callable[[], bool] = lambda: False) -> list[Any]:
    """Return the lines of an answer."""
    target = io.BytesIO()
    registry = object.__new__(Registry)
    registry.home = home  # type: ignore[method-assign, assignment]
    lines.write(operation(run), registry, {}, target, is_abandoned)
    return [json.loads(line) for line in target.getvalue().splitlines()]


def test_an_error_after_the_first_line_is_the_last_line() -> None:
    def fail(_: Registry, progress: Progress) -> int:
        progress("working", 1, 2)
        raise NotPermitted("no longer")

    step, problem = told(fail)
    assert step == {"progress": {"what": "working", "done": 1, "total": 2}}
    assert (problem["problem"]["error"], problem["problem"]["detail"]) == ("not-permitted", "no longer")


def test_an_error_before_the_first_line_is_an_answer_of_its_own() -> None:
    def fail(_: Registry, *, progress: Progress) -> int:
        raise InvalidData(f"wrong: {progress}")

    with pytest.raises(InvalidData):
        told(fail)


def test_progress_is_told_at_most_once_a_second() -> None:
    def work(_: Registry, progress: Progress) -> int:
        for done in range(1000):
            progress("working", done, 1000)
        progress("resting", 0, 0)
        return 7

    assert [one if isinstance(one, int) else one["progress"]["what"] for one in told(work)] == [
        "working",
        "resting",
        7,
    ]


def test_work_ends_when_nobody_reads_its_answer() -> None:
    def work(_: Registry, progress: Progress) -> int:
        while True:
            progress("working", 0, 0)

    left = iter([False, False, True])
    with pytest.raises(Abandoned):
        told(work, lambda: next(left))


def test_an_answer_that_has_nothing_to_tell_sends_empty_lines() -> None:
    async def answer() -> list[bytes]:
        ended = threading.Event()

        def work(target: IO[bytes]) -> None:
            ended.wait(20)
            target.write(b"7\n")

        blocks = []
        download = Download(filler=b"\n", pause=0.01)
        await download.begin(work, [anyio.CapacityLimiter(1)], 5)
        async for block in download.blocks():
            blocks.append(block)
            if len(blocks) == 3:
                ended.set()
        return blocks

    *fillers, last = anyio.run(answer)
    assert len(fillers) >= 3
    assert ({*fillers}, last) == ({b"\n"}, b"7\n")


def test_an_error_that_is_also_one_of_files_keeps_its_meaning() -> None:
    async def answer() -> None:
        def refuse(_: IO[bytes]) -> None:
            raise NotPermitted("not yours")

        await Download().begin(refuse, [anyio.CapacityLimiter(1)], 5)

    with pytest.raises(NotPermitted, match="not yours"):
        anyio.run(answer)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"  # noqa: E501


def chunk(text: str) -> bytes:
    return f"{len(text):x}\r\n{text}\r\n".encode()


@pytest.mark.parametrize(
    ("sent", "kind", "message"),
    [
        (chunk('{"progress": {"what": "events", "done": 1, "total": 2}}\n'), StoreUnavailable, "cannot be"),
        (chunk("\n") + b"0\r\n\r\n", StoreUnavailable, "too soon"),
        (chunk("<html>\n") + b"0\r\n\r\n", StoreUnavailable, "not as a registry"),
        (
            chunk('{"problem": {"error": "invalid-data", "detail": "wrong", "fields": {}}}\n') + b"0\r\n\r\n",
            InvalidData,
            "wrong",
        ),
    ],
    ids=["cut-off", "without-result", "no-registry", "problem"],
)
@pytest.mark.parametrize("name", ["validate", "verify", "repair_counters"])
def test_an_answer_that_is_cut_off_is_no_result(
    name: str, sent: bytes, kind: type[Exception], message: str
) -> None:
    def behave(stream: IO[bytes]) -> list[str]:
        found = take(stream)
        stream.write(HEAD + sent)
        return [found]

    with raw_server(behave) as (address, _), idstore.connect(address) as far:
        if name == "verify" and message == "too soon":
            assert [*far.verify(ALICE)] == []  # its result is a list, which may be empty
            return
        if name == "repair_counters" and message == "cannot be":
            kind, message = OutcomeUnknown, "may have taken effect"
        with pytest.raises(kind, match=message):
            list(getattr(far, name)(ALICE) or ())


def test_a_validation_ends_soon_after_its_client_left(server: Server, alice: str) -> None:
    """Both places are free again, so that a third client need not wait for the first two."""
    for _ in range(4):
        far = idstore.connect(server.address, token=alice)
        assert isinstance(far, RemoteRegistry)

        def leave(*_: object) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            far.validate(ALICE, leave)
        far.close()
    start = time.monotonic()
    with idstore.connect(server.address, token=alice) as far:
        assert far.validate(ALICE).conforms
    assert time.monotonic() - start < 20
