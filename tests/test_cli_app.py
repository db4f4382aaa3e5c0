"""The mechanism of the command line: groups, shared options, output, errors, exit codes.

Other files test the commands.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.exceptions import TyperException

from idstore import errors, schemes
from idstore.cli import app, exits, inputs
from idstore.cli.call import Call
from idstore.cli.lazy import CommandGroup, Section, lazy_group
from idstore.cli.output import Output, report
from idstore.cli.termination import UsageError

Run = Callable[..., int]


def show(call: Call) -> None:
    """Print the call's shared options."""
    call.output.data(
        f"{call.store} {call.user} {call.wait:g}",
        {"store": call.store, "user": call.user, "quiet": call.output.quiet},
    )


def log(
    call: Call, user: Annotated[str | None, typer.Option("--user", help="Only what this one did.")] = None
) -> None:
    """Declare an option with the name of a shared one."""
    print(f"{call.user} looks at {user}")


def talk(call: Call, words: list[str]) -> int:
    """Write to both channels and return a code."""
    call.output.data("result", {"words": words})
    call.output.info("talk")
    call.output.warn("look\nhere")
    return 7


def fail(call: Call, kind: str) -> None:
    """Raise an error."""
    call.output.info("about to fail")
    raise {
        "registered": errors.NotRegistered("x"),
        "odd": KeyError("odd"),
        "abort": typer.Abort(),
        "key": KeyboardInterrupt(),
    }[kind]


COMMANDS: Mapping[str, Section] = {
    "First": {name: f"{__name__}:{name}" for name in ("show", "log", "talk")},
    "Second": {
        "fail": f"{__name__}:fail",
        "party": CommandGroup("People.", {"show": f"{__name__}:show"}),
        "broken": "no.such.module:f",
    },
}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    for name in ("IDSTORE_STORE", "IDSTORE_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOGNAME", "ann")
    monkeypatch.setattr(app, "application", lambda: lazy_group("idstore", "Test.", COMMANDS, root=True))
    return lambda *words: app.run(words)


class Digits:
    """A scheme of digits."""

    name = "digits"

    def parse(self, text: str) -> str:
        for position, character in enumerate(text):
            if not character.isdigit():
                raise errors.InvalidIdentifier(text, "not a digit", position, self.name)
        return text.lstrip("0")


class Letters:
    """A scheme of letters."""

    name = "letters"

    def parse(self, text: str) -> str:
        if not text.isalpha():
            raise errors.InvalidIdentifier(text, "not letters", 0, self.name)
        return text.lower()


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("IDSTORE_STORE", str(tmp_path / "none"))
    real = schemes.scheme
    known: dict[str, Any] = {"digits": Digits(), "letters": Letters()}
    monkeypatch.setattr(schemes, "installed", lambda: known)
    monkeypatch.setattr(schemes, "scheme", lambda name: known.get(name) or real(name))
    return lambda *words: app.run(["check", *words])


@pytest.mark.parametrize(
    "words",
    [
        ("--store", "/s", "--user", "bob", "--wait", "3", "show"),
        ("show", "--store", "/s", "--user", "bob", "--wait", "3"),
        ("--store", "/other", "--user", "bob", "show", "--store", "/s", "--wait=3"),
        ("--store", "/s", "party", "--user", "bob", "show", "--wait", "3"),
    ],
)
def test_shared_options_stand_before_or_after(
    run: Run, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert run(*words) == exits.DONE
    assert capsys.readouterr().out == "/s bob 3\n"


def test_environment_and_login_name_are_defaults(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDSTORE_STORE", "/from/environment")
    run("show")
    monkeypatch.setenv("IDSTORE_USER", "carol")
    run("show")
    run("--user", "bob", "show", "--store", "/given")
    assert capsys.readouterr().out.splitlines() == [
        "/from/environment ann 10",
        "/from/environment carol 10",
        "/given bob 10",
    ]


def test_the_default_store_is_the_users_own(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("show")
    assert "idstore" in Path(capsys.readouterr().out.split()[0]).parts


def test_an_account_without_a_name_needs_the_user_option(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_user() -> str:
        raise KeyError("getpwuid(): uid not found: 4242")

    monkeypatch.setattr("getpass.getuser", no_user)
    assert run("show") == exits.USAGE
    assert "--user NAME" in capsys.readouterr().err


def test_a_command_keeps_its_own_option(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--user", "bob", "log", "--user", "carol") == exits.DONE
    assert capsys.readouterr().out == "bob looks at carol\n"


def test_data_and_messages_go_to_different_streams(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("talk", "a", "b") == exits.NOT_PERMITTED
    assert capsys.readouterr() == ("result\n", "talk\nidstore: warning: look\\nhere\n")


def test_quiet_leaves_data_and_errors(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("talk", "a", "--quiet")
    run("--quiet", "fail", "registered")
    out, err = capsys.readouterr()
    assert out == "result\n"
    assert err.splitlines() == [f"idstore: {errors.NotRegistered('x').message} (idstore list)"]


def test_json_is_one_object_a_line(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("--json", "talk", "ü")
    run("talk", "b", "--json", "--quiet")
    out, err = capsys.readouterr()
    assert [json.loads(line) for line in out.splitlines()] == [{"words": ["ü"]}, {"words": ["b"]}]
    assert json.loads(err.splitlines()[1]) == {"warning": "look\nhere"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "missing command; see `idstore --help`"),
        (("shwo",), "no such command 'shwo' (did you mean show?); see `idstore --help`"),
        (("party",), "missing command; see `idstore party --help`"),
        (("party", "zzz"), "no such command 'zzz'; see `idstore party --help`"),
        (("--nix",), "no such option: --nix; see `idstore --help`"),
        (("show", "--nix"), "no such option: --nix; see `idstore show --help`"),
        (("fail",), "missing argument 'kind'; see `idstore fail --help`"),
        (
            ("show", "--wait", "-1"),
            (
                "invalid value for '--wait': -1 is no waiting time; give "
                "seconds, 0 or more; see `idstore show --help`"
            ),
        ),
        (
            ("show", "--wait", "nan"),
            (
                "invalid value for '--wait': nan is no waiting time; give "
                "seconds, 0 or more; see `idstore show --help`"
            ),
        ),
        (("show", "x"), "got unexpected extra argument(s) (x); see `idstore show --help`"),
    ],
)
def test_usage_errors_are_one_line(
    run: Run, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert run(*words) == exits.USAGE
    assert capsys.readouterr() == ("", f"idstore: {message}\n")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("No such option: --nix.", "no such option: --nix"),
        ("Invalid value: A is none.", "invalid value: A is none"),
        ("RDF/XML describes identifiers", "RDF/XML describes identifiers"),
        ("Documents/A.ttl cannot be read", "Documents/A.ttl cannot be read"),
        ("SSSOM has no title", "SSSOM has no title"),
    ],
)
def test_only_a_word_of_the_language_loses_its_capital(
    capsys: pytest.CaptureFixture[str], said: str, message: str
) -> None:
    assert report(TyperException(said), Output()) == exits.USAGE
    assert capsys.readouterr().err == f"idstore: {message}; see `idstore --help`\n"
    assert report(UsageError(said), Output()) == exits.USAGE
    assert capsys.readouterr().err == f"idstore: {said.rstrip('.')}; see `idstore --help`\n"


def test_usage_errors_are_objects_with_json(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "--nix", "--json") == exits.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert json.loads(err) == {
        "error": "usage",
        "message": "no such option: --nix; see `idstore show --help`",
    }


def test_errors_carry_their_fields(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("fail", "registered", "--json", "--quiet") == exits.NOT_FOUND
    told = errors.NotRegistered("x")
    assert json.loads(capsys.readouterr().err) == {
        "error": told.code,
        "message": f"{told.message} (idstore list)",
        "text": "x",
        "field": "id",
        "value": "x",
        "remedy": "list-identifiers",
    }


@pytest.mark.parametrize("kind", ["key", "abort"])
def test_interruption(run: Run, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    assert run("fail", kind, "--quiet") == exits.INTERRUPTED
    assert capsys.readouterr().err == "idstore: interrupted\n"


def test_an_unexpected_error_is_one_line(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("fail", "odd", "--quiet") == exits.FAILED
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert "KeyError: 'odd'" in err
    monkeypatch.setenv("IDSTORE_TRACEBACK", "1")
    assert run("fail", "odd", "--quiet") == exits.FAILED
    assert "Traceback" in capsys.readouterr().err


def test_help_lists_sections(
    monkeypatch: pytest.MonkeyPatch, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        app, "application", lambda: lazy_group("idstore", "Test.", {"First": COMMANDS["First"]})
    )
    assert run("--help") == exits.DONE
    out = capsys.readouterr().out
    assert out.index("First:") < out.index("  show  Print the call's shared options.") < out.index("  log ")


def test_only_the_command_asked_for_is_imported(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show") == exits.DONE
    assert run("broken") == exits.FAILED
    assert "No module named 'no'" in capsys.readouterr().err


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    def walk(words: Sequence[str], commands: Mapping[str, str | CommandGroup]) -> None:
        for name, target in commands.items():
            assert app.run([*words, name, "--help"]) == exits.DONE
            assert "--store" in capsys.readouterr().out
            if isinstance(target, CommandGroup):
                walk([*words, name], target.commands)

    for section in app.COMMANDS.values():
        walk([], section)
    assert app.run(["--help"]) == exits.DONE
    assert "..." not in capsys.readouterr().out.split("-h, --help")[1], (
        "a first line of help is too long for the list"
    )


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["--version"]) == exits.DONE
    assert capsys.readouterr().out.strip().replace(".", "").isalnum()


def test_check_names_every_scheme_that_fits(check: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("007", "ABC") == exits.DONE
    assert capsys.readouterr().out == "7\tdigits\nabc\tletters\n"


def test_check_one_scheme_prints_the_canonical_form_alone(
    check: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check("007", "--scheme", "digits") == exits.DONE
    assert check("007", "--scheme", "letters") == exits.INVALID
    assert check("007", "--scheme", "nix") == exits.USAGE
    out, err = capsys.readouterr()
    assert out == "7\n"
    assert (
        err.splitlines()[0] == "idstore: '007' is not a valid letters identifier: not letters (at position 0)"
    )


def test_check_continues_after_a_text_that_fits_no_scheme(
    check: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check("12-", "34") == exits.INVALID
    out, err = capsys.readouterr()
    assert out == "34\tdigits\n"
    assert (
        err
        == "idstore: no scheme fits: '12-' is not a valid digits identifier: not a digit (at position 2)\n"
    )


def test_check_in_json(check: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("--json", "1", "2-") == exits.INVALID
    out, err = capsys.readouterr()
    assert json.loads(out) == {"text": "1", "scheme": "digits", "canonical": "1"}
    refusal = json.loads(err)
    assert (refusal["error"], refusal["position"]) == ("invalid-identifier", 1)
    assert [every["scheme"] for every in refusal["refusals"]] == ["digits", "letters"]


def test_a_dash_reads_lines(tmp_path: Path) -> None:
    file = tmp_path / "texts"
    file.write_bytes("\ufeffone\r\n\n two \nü".encode())
    assert list(inputs.lines(str(file))) == ["one", " two ", "ü"]


def test_unreadable_input_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "texts"
    file.write_bytes(b"one\ntw\xff")
    with pytest.raises(errors.InvalidData, match=r"texts, line 2: not UTF-8 \(byte 3\)"):
        list(inputs.lines(str(file)))
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(errors.InvalidData, match=path.name):
            inputs.content(str(path))


def idstore(*words: str, code: str = "") -> list[str]:
    """Run the command line in a process, as a console script does, after ``code``."""
    return [
        sys.executable,
        "-c",
        f"import sys\n{code}\nfrom idstore.__main__ import main; sys.exit(main())",
        *words,
    ]


def instead(body: str) -> str:
    """Return code that replaces the body of a command."""
    return (
        f"import idstore.cli.commands.check as c\nc.check.__code__ = (lambda "
        f"call, texts, scheme=None: {body}).__code__"
    )


def test_a_closed_pipe_is_no_failure() -> None:
    with subprocess.Popen(
        idstore("check", "x", code=instead("print('x\\n' * 1_000_000)")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == exits.PIPE_CLOSED


def test_ctrl_c_ends_a_process_with_130() -> None:
    waiting = idstore("check", "x", code=instead("[print(flush=True), __import__('time').sleep(60)]"))
    with subprocess.Popen(waiting, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert (process.returncode, err) == (exits.INTERRUPTED, b"idstore: interrupted\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("buffering", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], ["mint", "--help"], ["check", "R3732211754"]], ids=" ".join
)
def test_output_that_cannot_be_written_is_an_error(words: list[str], buffering: dict[str, str]) -> None:
    with Path("/dev/full").open("wb") as full:
        environment = {
            name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"
        } | buffering
        done = subprocess.run(
            idstore(*words), stdout=full, stderr=subprocess.PIPE, env=environment, check=False
        )
    assert done.returncode == exits.FAILED
    assert done.stderr == b"idstore: standard output: No space left on device\n"


def test_a_start_imports_nothing_slow() -> None:
    code = "from idstore.cli.app import run; run(['check', '--nix']); import sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {
        "rich",
        "pydantic",
        "rdflib",
        "pyshacl",
        "pyoxigraph",
        "sqlite3",
        "platformdirs",
    }.intersection(loaded)
