"""Batch files of the Handle System.

Published ones, ones by an independent client, malformed ones, and round trips.
"""

import io
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

import idstore
from idstore import Party, Registry, Request
from idstore.errors import BatchRefused, ExchangeError, InvalidData
from idstore.exchange import handle_batch
from idstore.exchange.handle_batch import operations
from idstore.exchange.handle_batch_export import export, omissions
from idstore.exchange.handle_batch_import import BatchReport, import_batch
from idstore.model import times
from idstore.model.filter import Filter
from idstore.model.party import NOBODY
from idstore.model.record import Record
from idstore.model.value import Value
from idstore.model.value import index as index_of
from idstore.registry.core import Core
from idstore.registry.handle_values import Draft
from idstore.registry.visibility import Sight
from idstore.schemes.handle_values import RIGHTS
from idstore.stores.contract import View
from idstore.vocabulary import IDS

ROOT, ALICE, BOB = (Party(name) for name in ("root", "alice", "bob"))

PUBLISHED = """\
AUTHENTICATE SECKEY:301:0.NA/12345
my_password

CREATE 12345/hdl1
100 HS_ADMIN 86400 1110 ADMIN 200:111111111111:0.NA/12345
3 URL 86400 1110 UTF8 http://www.handle.net
1 HS_VLIST 86400 1110 LIST 300:10.50/USR1; 300:10.50/USR2;

CREATE 12345/hdl2
5 EMAIL 86400 1110 UTF8 hdladmin@cnri.reston.va.us
6 DESC 86400 1110 UTF8 two words

REMOVE 5,6:12345/hdl2

ADD 12345/hdl2
5 URL 86400 1110 UTF8 http://example.org/2

MODIFY 12345/hdl1
3 URL 3600 1110 UTF8 http://example.org/1

CREATE 12345/hdl3
1 URL 86400 1110 UTF8 http://example.org/3

DELETE 12345/hdl3
"""
"""Composed of the samples in the Handle.Net technical manual, chapter 4."""


UNADMINISTERED = "handles of h are created without HS_ADMIN"
"""The beginning of a warning."""


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ROOT) as registry:
        registry.add_namespace("h", "12345", "handle", ROOT)
        yield registry
        assert [str(one) for one in registry.verify(ROOT)] == []


def carry_out(registry: Registry, text: str, party: Party = ALICE, *, dry_run: bool = False) -> BatchReport:
    return import_batch(registry, io.BytesIO(text.encode()), party, dry_run=dry_run)


def flaws(registry: Registry, text: str, party: Party = ALICE) -> list[tuple[int, str]]:
    """Return the errors of a file, none of whose operations is done."""
    before = [entry.event for entry in registry.log(ROOT)]
    with pytest.raises(BatchRefused) as caught:
        carry_out(registry, text, party)
    assert [entry.event for entry in registry.log(ROOT)] == before
    assert caught.value.flaws[0][1] in caught.value.message
    return list(caught.value.flaws)


def values(registry: Registry, handle: str, party: Party = ALICE) -> list[tuple[int, str, int, str]]:
    return [(one.index, one.type, one.ttl, one.text) for one in registry.values(f"hdl:{handle}", party)]


def written(registry: Registry, party: Party = ALICE) -> tuple[str, list[str]]:
    target = io.BytesIO()
    export(registry, target, party)
    return target.getvalue().decode(), without_drafts(omissions(registry, party))


def without_drafts(told: list[str]) -> list[str]:
    kept = ("drafts are in this file", "values that not everyone may read are in this file")
    return [one for one in told if not one.startswith(kept)]


def test_the_published_samples_are_applied(registry: Registry) -> None:
    assert carry_out(registry, PUBLISHED, dry_run=True) == carry_out(registry, PUBLISHED)
    assert values(registry, "12345/hdl1") == [
        (1, "HS_VLIST", 86400, "300:10.50/USR1;300:10.50/USR2"),
        (3, "URL", 3600, "http://example.org/1"),
        (100, "HS_ADMIN", 86400, f"200:{','.join(RIGHTS)}:0.NA/12345"),
    ]
    assert values(registry, "12345/hdl2") == [(5, "URL", 86400, "http://example.org/2")]
    assert {record.label for record in registry.list(ALICE)} == {"hdl1", "hdl2"}
    assert "my_password" not in repr(list(registry.log(ROOT)))


def test_a_dry_run_does_nothing(registry: Registry) -> None:
    found = carry_out(registry, PUBLISHED, dry_run=True)
    assert (found.created, found.changed, found.deleted) == (
        ("12345/hdl1", "12345/hdl2", "12345/hdl3"),
        ("12345/hdl2", "12345/hdl1"),
        ("12345/hdl3",),
    )
    assert registry.list(ALICE) == []


def test_a_written_batch_file_survives_a_round_trip(registry: Registry, tmp_path: Path) -> None:
    carry_out(registry, PUBLISHED)
    odd = f"https://hdl.handle.net/12345/{quote('odd %3C:;,é # ')}"
    registry.register("h", odd, ALICE, Request(force=True))
    registry.register("h", "a:b;c%3C é", ALICE)
    registry.set_value(
        "hdl:12345/a:b;c%3C é", Draft("DESC", "x  y\u3000", 5, ttl=0, permissions="1100"), ALICE
    )
    text, left_out = written(registry)
    assert left_out[0].startswith("'12345/odd %3C:;,é # ' is left out")
    assert left_out[1].startswith(UNADMINISTERED) and len(left_out) == 2
    with idstore.open(tmp_path / "other", administrator=ALICE) as other:
        other.add_namespace("h", "12345", "handle", ALICE)
        assert len(carry_out(other, text).created) == 3
        assert written(other)[0] == text


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[A-Za-z0-9._-]{1,10}", fullmatch=True).filter(
                lambda word: not word.upper().startswith(("HS_", "URL"))
            ),
            st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20),
            st.integers(0, 2**31 - 1),
            st.sampled_from(["1110", "1100", "0000", "1111"]),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_lines_survive_a_round_trip(found: list[tuple[str, str, int, str]]) -> None:
    made = [
        Value(number, type, data, ttl=ttl, permissions=given)
        for number, (type, data, ttl, given) in enumerate(found, 1)
    ]
    writable = [one for one in made if handle_batch.unwritable(one) is None]
    text = "CREATE 1/a\n" + "".join(f"{handle_batch.line_of(one)}\n" for one in writable)
    if writable:
        [read] = operations(io.BytesIO(text.encode()))
        assert [
            (draft.index, draft.type, draft.data, draft.ttl, draft.permissions) for _, draft in read.values
        ] == [(one.index, one.type, one.data, one.ttl, one.permissions) for one in writable]


def test_data_beyond_a_batch_file_are_reported(registry: Registry) -> None:
    carry_out(registry, PUBLISHED)
    odd: list[str | bytes] = ["", "two\nlines", " space", b"\xff"]
    for index, data in enumerate(odd, 10):
        registry.set_value("hdl:12345/hdl2", Draft("DESC", data, index), ALICE)
    registry.set_value("hdl:12345/hdl2", Draft("DESC", "until", 14, until=times.of(1_800_000_000_000)), ALICE)
    registry.fixate(["hdl:12345/hdl1"], ALICE)
    registry.revoke("hdl:12345/hdl1", "abuse", ROOT)
    text, left_out = written(registry)
    assert text == "CREATE 12345/hdl2\n5 URL 86400 1110 UTF8 http://example.org/2\n\n"
    assert [one.partition(" is left out")[0] for one in left_out] == [
        "12345/hdl1",
        *(f"12345/hdl2: value {index} (DESC)" for index in range(10, 15)),
        left_out[-1],
    ]
    assert left_out[-1].startswith(UNADMINISTERED)


def test_only_readable_values_are_written(registry: Registry) -> None:
    carry_out(
        registry, "CREATE 12345/a\n1 URL 86400 1110 UTF8 http://a.example/\n2 NOTE 86400 1100 UTF8 mine\n\n"
    )
    assert written(registry, BOB) == ("", [])
    registry.fixate(["hdl:12345/a"], ALICE)
    assert "mine" not in written(registry, BOB)[0]
    assert "2 NOTE 86400 1100 UTF8 mine\n" in written(registry)[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("CREATE 12345/a\n1 URL 86400 1110 FILE /etc/passwd\n", [(2, "reads no other")]),
        ("CREATE 12345/a\n0 URL 86400 1110 UTF8 http://a.example/\n", [(2, "index '0'")]),
        ("CREATE 12345/a\n2147483648 DESC 86400 1110 UTF8 x\n", [(2, "index '2147483648'")]),
        (
            "CREATE 12345/a\n1 DESC 86400 1110 UTF8 x\n1 DESC 86400 1110 UTF8 y\n",
            [(3, "already has a value 1")],
        ),
        (
            "CREATE 12345/a\n1 DESC 86400 1110 UTF8 x\n1 DESC 86400 1110 UTF8 y\n\nREMOVE 1:12345/a\n",
            [(3, "already has a value 1")],
        ),
        ("CREATE 12345/a\n1 DESC -1 1110 UTF8 x\n", [(2, "time to live '-1'")]),
        ("CREATE 12345/a\n1 DESC 86400 11 UTF8 x\n", [(2, "permissions")]),
        ("CREATE 12345/a\n1 DESC 86400 1110zzz UTF8 x\n", [(2, "permissions")]),
        ("CREATE 12345/a\n1 DESC 86400 1110 UTF8\n", [(2, "it is no value")]),
        ("CREATE 12345/a\n1 DESC 86400 1110 UTF16 x\n", [(2, "the kind of the data is unknown")]),
        ("CREATE 12345/a\n1 URL 86400 1110 UTF8 no iri\n", [(2, "not an absolute URL")]),
        ("CREATE 12345/a\n1 HS_ADMIN 86400 1110 ADMIN 200:1111:0.NA/1\n", [(2, "12 digits")]),
        ("CREATE 12345/a\n1 HS_VLIST 86400 1110 LIST 300\n", [(2, "not a reference")]),
        ("CREATE 12345/a\n300 HS_SECKEY 86400 1100 UTF8 my_password\n", [(2, "secret")]),
        ("CREATE 12345/a\n\n", [(1, "no value")]),
        ("CREATE \n1 DESC 86400 1110 UTF8 x\n", [(1, "names no handle")]),
        (
            "CREATE 67890/a\n1 DESC 86400 1110 UTF8 x\n",
            [(1, "no namespace of this import has the prefix 67890")],
        ),
        ("CREATE 12345/\n1 DESC 86400 1110 UTF8 x\n", [(1, "the suffix is empty")]),
        ("CREATE 12345/\x07a\n1 DESC 86400 1110 UTF8 x\n", [(1, "U+0007")]),
        ("DELETE 12345/a\n", [(1, "not registered")]),
        ("REMOVE 1,x:12345/a\n", [(1, "index 'x'")]),
        ("REMOVE 12345/a\n", [(1, "index '12345/a'")]),
        ("REMOVE 1:\n", [(1, "names no handle")]),
        ("MODIFY 12345/a\n1 DESC 86400 1110 UTF8 x\n", [(2, "not registered")]),
        (
            "HOME 127.0.0.1:2641:TCP\n0.NA/12345\n\nFLY\n",
            [(1, "add a namespace for each"), (4, "begins with no operation")],
        ),
        (
            (
                "nonsense\nCREATE 12345/a\n1 DESC 86400 1110 UTF8 x\nDELETE 12345/b\nADD 12345/a\n1 DESC "
                "86400 1110 UTF8 x\n\nMODIFY 12345/a\n2 DESC 86400 1110 UTF8 x\n"
            ),
            [
                (1, "begins with no operation"),
                (4, "not registered"),
                (6, "has a value 1"),
                (9, "has no value 2"),
            ],
        ),
    ],
)
def test_every_bad_line_is_reported_and_no_operation_is_done(
    registry: Registry, text: str, found: list[tuple[int, str]]
) -> None:
    told = flaws(registry, text)
    assert [line for line, _ in told] == [line for line, _ in found]
    assert all(part in reason for (_, reason), (_, part) in zip(told, found, strict=True))
    assert "my_password" not in repr(told)


@pytest.mark.parametrize(
    "text",
    [
        "AUTHENTICATE SECKEY:301:0.NA/12345\nopen sesame\n",
        "authenticate PUBKEY:300:0.NA/12345\n/home/alice/key.bin|open sesame\n",
        "AUTHENTICATE nonsense\nopen sesame\n",
        "SESSIONSETUP\nUSESESSION:1\nPASSPHRASE:open sesame\nTIMEOUT:24\n\n",
        "open sesame\n",
        "CREATE 12345/x\nopen sesame\n",
        "1 2 open sesame\n",
    ],
)
def test_secrets_are_neither_stored_nor_shown(registry: Registry, text: str) -> None:
    good = "CREATE 12345/a\n1 DESC 86400 1110 UTF8 x\n"
    try:
        carry_out(registry, text + good)
    except BatchRefused as error:
        assert "sesame" not in f"{error.message}{error.fields}{error.flaws}"
        assert not text.upper().startswith(("AUTHENTICATE", "SESSION"))
    else:
        assert values(registry, "12345/a") == [(1, "DESC", 86400, "x")]
    assert "sesame" not in repr([entry.event for entry in registry.log(ROOT)]) + written(registry)[0]


def test_each_operation_has_the_rights_of_its_party(registry: Registry) -> None:
    carry_out(
        registry,
        "CREATE 12345/mine\n1 DESC 86400 1110 UTF8 x\n\nCREATE 12345/draft\n1 DESC 86400 1110 UTF8 x\n",
    )
    registry.fixate(["hdl:12345/mine"], ALICE)
    text = (
        "MODIFY 12345/mine\n1 DESC 86400 1110 UTF8 y\n\nDELETE 12345/mine\n"
        "DELETE 12345/draft\nDELETE 12345/nobody\n"
    )
    told = flaws(registry, text, BOB)
    assert [(line, "only its owner" in reason, "not registered" in reason) for line, reason in told] == [
        (2, True, False),
        (4, True, False),
        (5, False, True),
        (6, False, True),
    ]
    assert told[2][1].replace("draft", "nobody") == told[3][1], (
        "a hidden handle gives the answer of an absent one"
    )
    assert "permanent" in flaws(registry, "DELETE 12345/mine\n")[0][1]
    assert "taken" in flaws(registry, "CREATE 12345/draft\n1 DESC 86400 1110 UTF8 y\n", BOB)[0][1]


@pytest.mark.parametrize(
    ("content", "line"),
    [(b"CREATE 12345/a\n1 DESC 86400 1110 UTF8 \xff\n", 2), (b"CREATE 12345/" + b"a" * (1 << 20) + b"\n", 1)],
)
def test_a_file_that_cannot_be_read_is_refused_at_its_line(
    registry: Registry, content: bytes, line: int
) -> None:
    with pytest.raises(ExchangeError) as caught:
        import_batch(registry, io.BytesIO(content), ALICE)
    assert caught.value.fields["line"] == line
    assert registry.list(ALICE) == []


def test_line_ends_byte_order_marks_and_spaces_of_other_systems_are_accepted(registry: Registry) -> None:
    text = "\ufeffcreate 12345/a \r\n 1  DESC   86400 1110  utf8  two  words \r\n   \r\nDelete 12345/b\r\n"
    assert [(line, "12345/b" in reason) for line, reason in flaws(registry, text)] == [(4, True)]
    carry_out(registry, text.rpartition("\nDelete")[0])
    assert values(registry, "12345/a") == [(1, "DESC", 86400, "two  words")]


def test_a_batch_file_of_an_independent_client_is_read(registry: Registry, tmp_path: Path) -> None:
    client_module = pytest.importorskip("pyhandle.client.batchhandleclient")
    path = tmp_path / "batch"
    client = client_module.BatchHandleClient(batch_file_path=str(path))
    client.create_batch_file()
    client.authenticate_seckey("300:0.NA/12345", "open sesame")
    client.register_handle_batch("12345/one", "http://example.org/1", 200, "0.NA/12345", "110011111110")
    client.add_handle_value("12345/one", index=2, type="EMAIL", data="a@example.org")
    client.modify_handle_value("12345/one", index=1, type="URL", data="http://example.org/new")
    client.register_handle_batch("12345/two", "http://example.org/2", 200, "0.NA/12345", "111111111111")
    client.delete_handle_value("12345/two", [1, 100])
    client.delete_handle("12345/two")
    assert import_batch(registry, path, ALICE) == BatchReport(
        ("12345/one", "12345/two"), ("12345/one", "12345/two"), ("12345/two",)
    )
    assert [(index, type, text) for index, type, _, text in values(registry, "12345/one")] == [
        (1, "URL", "http://example.org/new"),
        (2, "EMAIL", "a@example.org"),
        (
            100,
            "HS_ADMIN",
            (
                "200:add_handle,delete_handle,modify_value,remove_value,add_value,modify_admin,"
                "remove_admin,add_admin,read_value:0.NA/12345"
            ),
        ),
    ]
    resolved = registry.resolve("hdl:12345/one", ALICE)
    assert resolved.target == "http://example.org/new"


@pytest.mark.parametrize("type", ["URL", "DESC"])
def test_many_values_of_a_handle_do_not_read_it_again_for_each(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, type: str
) -> None:
    loads: list[NamedNode] = []
    load = Core.load

    def counted(core: Core, view: View, iri: NamedNode, sight: Sight | None = None) -> Record:
        loads.append(iri)
        return load(core, view, iri, sight)

    indexes = range(1, 500)
    lines = [f"{index} {type} 86400 1110 UTF8 http://example.org/{index}\n" for index in indexes]
    with monkeypatch.context() as patch:
        patch.setattr(Core, "load", counted)
        carry_out(registry, f"CREATE 12345/a\n{''.join(lines)}\nADD 12345/a\n600 DESC 86400 1110 UTF8 x\n")
    assert len(loads) < 20
    *many, last = values(registry, "12345/a")
    assert many == [(index, type, 86400, f"http://example.org/{index}") for index in indexes]
    assert last == (600, "DESC", 86400, "x")
    events = [entry.event for entry in registry.log(ROOT, Filter(id="hdl:12345/a"))]
    assert [event.act for event in events[1:]] == ["ValueSetting"] * 500
    assert [index_of(event.get(IDS.index)) for event in events[1:]] == [*indexes, 600]
    target = registry.show("hdl:12345/a", ALICE).target
    assert (target and target) == ("http://example.org/1" if type == "URL" else None)


def changed(registry: Registry, since: datetime, party: Party = ALICE) -> tuple[list[str], list[str]]:
    """Return the operations of a file of changes, each as its lines, and what the file leaves out."""
    target = io.BytesIO()
    export(registry, target, party, changed_since=since)
    left_out = without_drafts(omissions(registry, party, changed_since=since))
    return target.getvalue().decode().split("\n\n")[:-1], left_out


def later(registry: Registry) -> datetime:
    """Return a moment after which all later events are."""
    last = max(entry.event.at for entry in registry.log(ROOT))
    while times.current() <= last:
        pass
    return last


ADMINISTRATOR = "HS_ADMIN 86400 1110 ADMIN 200:111111111111:0.NA/12345"


def test_a_file_of_changes_brings_an_earlier_one_up_to_date(registry: Registry, tmp_path: Path) -> None:
    registry.set_namespace("h", {"admin": "200:0.NA/12345"}, ROOT)
    carry_out(registry, PUBLISHED)
    for label in ("same", "named", "gone", "draft", "alias"):
        registry.register("h", label, ALICE, Request(target=f"http://example.org/{label}"))
    registry.set_value("h:gone", Draft("EMAIL", "a@example.org"), ALICE)
    registry.fixate(["h:gone", "h:same"], ALICE)
    first, left_out = written(registry)
    assert left_out == []
    since = later(registry)

    registry.register("h", "new", ALICE, Request(target="http://example.org/new"))
    registry.register("h", "brief", ALICE, Request(target="http://example.org/brief"))
    registry.release("h:brief", ALICE)
    registry.name("h:named", "a name is no value", ALICE)
    registry.target("hdl:12345/hdl2", "http://example.org/changed", ALICE)
    registry.set_value("hdl:12345/hdl2", Draft("EMAIL", "b@example.org", 7), ALICE)
    registry.unset_values("hdl:12345/hdl1", [1], ALICE)
    registry.set_value("h:alias", Draft("HS_ADMIN", "300:read_value:0.NA/12345", 100), ALICE)
    registry.revoke("h:gone", "against\n the rules", ROOT)
    registry.release("h:draft", ALICE)
    second, left_out = changed(registry, since)
    assert left_out == []
    assert second == [
        "MODIFY 12345/alias\n100 HS_ADMIN 86400 1110 ADMIN 300:000000000010:0.NA/12345",
        "DELETE 12345/draft",
        "REMOVE 2:12345/gone",
        "MODIFY 12345/gone\n1 DESC 86400 1110 UTF8 against the rules",
        "REMOVE 1:12345/hdl1",
        "MODIFY 12345/hdl2\n5 URL 86400 1110 UTF8 http://example.org/changed",
        "ADD 12345/hdl2\n7 EMAIL 86400 1110 UTF8 b@example.org",
        f"CREATE 12345/new\n1 URL 86400 1110 UTF8 http://example.org/new\n100 {ADMINISTRATOR}",
    ]
    assert changed(registry, later(registry)) == ([], [])

    with idstore.open(tmp_path / "other", administrator=ALICE) as other:
        other.add_namespace("h", "12345", "handle", ALICE)
        carry_out(other, first)
        carry_out(other, "\n\n".join([*second, ""]))
        assert values(other, "12345/gone") == [
            (1, "DESC", 86400, "against the rules"),
            (100, "HS_ADMIN", 86400, f"200:{','.join(RIGHTS)}:0.NA/12345"),
        ]
        registry.revoke("h:same", "left out of whole files", ROOT)
        other.release("h:gone", ALICE)
        other.release("h:same", ALICE)
        assert written(other)[0] == written(registry)[0]


def test_only_the_last_owner_and_administrators_delete_a_released_handle(registry: Registry) -> None:
    carry_out(registry, "CREATE 12345/a\n1 URL 86400 1110 UTF8 http://example.org/\n")
    registry.grant("h:a", BOB, ALICE)
    since = later(registry)
    registry.release("h:a", ALICE)
    for party, expected in ((ALICE, ["DELETE 12345/a"]), (ROOT, ["DELETE 12345/a"]), (BOB, []), (NOBODY, [])):
        assert changed(registry, since, party) == (expected, [])


def test_a_published_draft_is_new_for_those_who_did_not_see_it(registry: Registry) -> None:
    carry_out(
        registry,
        f"CREATE 12345/a\n1 URL 86400 1110 UTF8 http://example.org/\n100 {ADMINISTRATOR}\n"
        "200 NOTE 86400 1100 UTF8 mine\n",
    )
    since = later(registry)
    for party in (BOB, NOBODY):
        assert changed(registry, since, party) == ([], [])
    registry.fixate(["h:a"], ALICE)
    assert changed(registry, since) == ([], [])
    for party in (BOB, NOBODY):
        assert changed(registry, since, party) == (
            [f"CREATE 12345/a\n1 URL 86400 1110 UTF8 http://example.org/\n100 {ADMINISTRATOR}"],
            [],
        )


def test_changes_are_restricted_by_namespace_alone(registry: Registry) -> None:
    with pytest.raises(InvalidData, match="by namespace alone"):
        export(registry, io.BytesIO(), ALICE, Filter(namespace="h", stage="fixated"), times.of(0))
    export(registry, io.BytesIO(), ALICE, Filter(namespace="h"), times.of(0))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("200:0.NA/12345", f"200:{','.join(RIGHTS)}:0.NA/12345"),
        (" 300:read_value,add_value:12345/A:b ", "300:add_value,read_value:12345/A:b"),
        ("200:batch=000000000010:0.NA/12345", "200:read_value:0.NA/12345"),
        ("", ""),
    ],
)
def test_the_administrator_of_a_namespace_is_one_of_the_handle_system(
    registry: Registry, given: str, kept: str
) -> None:
    assert registry.set_namespace("h", {"admin": given}, ROOT).context.settings["admin"] == kept
    with pytest.raises(InvalidData):
        registry.set_namespace("h", {"admin": "alice"}, ROOT)
