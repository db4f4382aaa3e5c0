"""Link checking against a local web server: its answers, polite requests, and resumption after a kill."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from command_lines import Minting, Run

from idstore.errors import ExchangeError
from idstore.exchange import link_check
from idstore.exchange.link_check import LinkResult, Politeness
from idstore.model import times

QUICK = Politeness(delay=0, timeout=5, private=True)


@dataclass(slots=True)
class Site:
    """A web server that records its requests, their times, and how many are concurrent."""

    address: str = ""
    asked: list[tuple[str, str, float]] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    release: threading.Event = field(default_factory=threading.Event)
    at_once: int = 0
    most_at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def paths(self) -> list[str]:
        return [path for _, path, _ in self.asked]


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer("HEAD")

        def do_GET(self) -> None:
            self.answer("GET")

        def answer(self, method: str) -> None:
            with site.lock:
                site.asked.append((method, self.path, time.monotonic()))
                site.agents.add(self.headers["User-Agent"])
                site.at_once += 1
                site.most_at_once = max(site.most_at_once, site.at_once)
            try:
                self.say(method, self.path.lstrip("/").split("?")[0])
            finally:
                with site.lock:
                    site.at_once -= 1

        def say(self, method: str, word: str) -> None:
            headers: dict[str, str] = {}
            status = int(word) if word.isdecimal() else 200
            match word:
                case "moved":
                    status, headers["Location"] = 301, "/200"
                case "circle":
                    status, headers["Location"] = 302, "/circle"
                case "file":
                    status, headers["Location"] = 301, "file:///etc/passwd"
                case "no-head":
                    status = 405 if method == "HEAD" else 200
                case "busy":
                    status, headers["Retry-After"] = 429, "1"
                case "slow":
                    site.release.wait(30)
                case "cut":
                    return
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    return Handler


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(made))
    server.daemon_threads = True
    made.address = f"http://127.0.0.1:{server.server_address[1]}"
    running = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    running.start()
    yield made
    made.release.set()
    server.shutdown()
    running.join()
    server.server_close()


@pytest.mark.parametrize(
    ("path", "outcome", "status"),
    [
        ("200", "answers", 200),
        ("204", "answers", 204),
        ("moved", "moved", 200),
        ("404", "broken", 404),
        ("410", "broken", 410),
        ("500", "broken", 500),
        ("no-head", "answers", 200),
        ("405", "broken", 405),
        ("401", "unsure", 401),
        ("403", "unsure", 403),
        ("503", "unsure", 503),
        ("busy", "unsure", 429),
        ("file", "broken", 301),
        ("cut", "broken", 0),
    ],
)
def test_what_a_server_answers(site: Site, path: str, outcome: str, status: int) -> None:
    found = link_check.check(f"{site.address}/{path}", QUICK)
    assert (found.outcome, found.status) == (outcome, status), found
    assert found.location == {"moved": f"{site.address}/200", "file": "file:///etc/passwd"}.get(path, "")
    assert abs((found.at - times.current()).total_seconds()) < 60
    assert site.agents == {link_check.AGENT}


def test_get_follows_only_a_head_that_is_not_understood(site: Site) -> None:
    for path in ("200", "no-head"):
        link_check.check(f"{site.address}/{path}", QUICK)
    assert [(method, path) for method, path, _ in site.asked] == [
        ("HEAD", "/200"),
        ("HEAD", "/no-head"),
        ("GET", "/no-head"),
    ]


def test_a_server_that_does_not_answer_in_time(site: Site) -> None:
    found = link_check.check(f"{site.address}/slow", Politeness(timeout=0.2, private=True))
    assert (found.outcome, found.status) == ("broken", 0)
    assert "timed out" in found.detail


def test_a_circle_of_redirections_is_broken(site: Site) -> None:
    assert link_check.check(f"{site.address}/circle", QUICK).outcome == "broken"


def unnamed(monkeypatch: pytest.MonkeyPatch, number: int, but: str = "") -> None:
    """Make name resolution fail with this error for every name but one, which stands for 127.0.0.1."""
    found = socket.getaddrinfo

    def lookup(host: str, *words: Any, **options: Any) -> Any:
        if host not in (but, "127.0.0.1"):
            raise socket.gaierror(number, "it is not known")
        return found("127.0.0.1", *words, **options)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)


@pytest.mark.parametrize("private", [True, False])
def test_an_unresolved_host_name_is_broken_or_unsure(monkeypatch: pytest.MonkeyPatch, private: bool) -> None:
    for number, outcome, detail in (
        (socket.EAI_NONAME, "broken", "there is no such host"),
        (socket.EAI_AGAIN, "unsure", link_check.NAMELESS),
    ):
        with monkeypatch.context() as patch:
            unnamed(patch, number)
            found = link_check.check("http://nosuch.example/", Politeness(private=private))
        assert (found.outcome, found.status, found.detail) == (outcome, 0, detail)


def test_a_machine_without_a_network_breaks_no_target(
    run: Run, mint: Minting, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = site.address.rpartition(":")[2]
    for target in (
        "http://a.example/",
        "http://b.example/",
        f"http://there.example:{port}/200",
        f"{site.address}/200",
    ):
        mint("--target", target)
    words = ("links", "--results", tmp_path / "results.tsv", "--private", "--delay", "0")
    with monkeypatch.context() as patch:
        unnamed(patch, socket.EAI_NONAME)
        found = run(*words)
    assert f"3 targets were not checked, because {link_check.NAMELESS}" in found.err
    assert found.err.splitlines()[-1] == "idstore: 1 answers, 3 unsure"
    with monkeypatch.context() as patch:
        unnamed(patch, socket.EAI_NONAME, but="there.example")
        found = run(*words)
    assert "4 targets, 3 to check" in found.err
    assert found.err.splitlines()[-1] == "idstore: 2 answers, 2 broken"


def test_a_refused_connection_is_a_broken_link() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        found = link_check.check(f"http://127.0.0.1:{free.getsockname()[1]}/", QUICK)
    assert (found.outcome, found.detail) == ("broken", "Connection refused")


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1:{port}/200",
        "http://localhost:{port}/200",
        "http://[::1]:{port}/200",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/",
        "urn:isbn:0451450523",
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "http://",
    ],
)
def test_the_local_network_is_not_asked_unless_that_is_wanted(site: Site, target: str) -> None:
    found = link_check.check(
        target.format(port=site.address.rpartition(":")[2]), Politeness(delay=0, timeout=2)
    )
    assert found.outcome == "passed over"
    assert site.asked == []


def test_requests_to_a_host_are_sequential_with_a_pause(site: Site) -> None:
    """Each target is requested once."""
    targets = [f"{site.address}/200?{number}" for number in range(5)]
    found = list(link_check.check_all([*targets, *targets], Politeness(delay=0.1, timeout=5, private=True)))
    assert [answer.target for answer in found] == targets
    assert sorted(site.paths()) == [f"/200?{number}" for number in range(5)]
    assert site.most_at_once == 1
    moments = [moment for *_, moment in site.asked]
    assert all(later - earlier >= 0.09 for earlier, later in pairwise(moments))


def test_a_host_is_one_host_however_it_is_written(site: Site) -> None:
    targets = [
        f"{site.address.replace('127.0.0.1', host)}/200"
        for host in ("localhost", "LOCALHOST", "me@Localhost")
    ]
    found = list(link_check.check_all(targets, Politeness(delay=0.1, timeout=5, private=True)))
    assert {answer.outcome for answer in found} == {"answers"}
    assert all(later - earlier >= 0.1 for (_, _, earlier), (_, _, later) in pairwise(site.asked))


@pytest.mark.parametrize("user", ["user@", "user:secret@", "é@"])
def test_a_user_s_name_is_not_sent(site: Site, user: str) -> None:
    answer = link_check.check(f"{site.address.replace('://', f'://{user}')}/200", QUICK)
    assert (answer.outcome, answer.status, answer.location) == ("answers", 200, "")


def test_a_host_that_asks_to_wait_is_waited_for(site: Site) -> None:
    found = list(link_check.check_all([f"{site.address}/{path}" for path in ("busy", "moved")], QUICK))
    assert [answer.detail for answer in found] == ["1", ""]
    assert site.asked[1][2] - site.asked[0][2] >= 0.9


def test_the_newest_dated_row_of_a_target_counts(tmp_path: Path) -> None:
    file = tmp_path / "results.tsv"
    assert link_check.read(file) == {}
    first = LinkResult("http://example.org/a", times.of(1_000_000), "broken", 404, detail="a\ttab\nand more")
    assert list(link_check.write(file, [first])) == [first]
    list(link_check.write(file, [LinkResult("http://example.org/a", times.of(2_000_000), "answers", 200)]))
    assert (
        file.read_text().splitlines()[1]
        == "http://example.org/a\t1970-01-01T00:16:40.000Z\tbroken\t404\t\ta tab and more"
    )
    row = link_check.read(file)["http://example.org/a"]
    assert row[2:4] == ("answers", "200")
    assert link_check.is_fresh(row, times.of(2_000_000))
    assert not link_check.is_fresh(row, times.of(2_000_001))
    assert not link_check.is_fresh(None, times.of(0))
    assert not link_check.is_fresh((*row[:2], "unsure", *row[3:]), times.of(0))


def test_an_iri_is_asked_for_as_an_address(site: Site) -> None:
    found = link_check.check(f"{site.address}/é?ü=%20", QUICK)
    assert (found.outcome, found.location, found.target) == ("answers", "", f"{site.address}/é?ü=%20")
    assert site.paths() == ["/%C3%A9?%C3%BC=%20"]


def test_skipped_targets_are_requested_once_permitted(
    run: Run, mint: Minting, site: Site, tmp_path: Path
) -> None:
    mint("--target", f"{site.address}/200")
    words = ("links", "--results", tmp_path / "results.tsv", "--delay", "0")
    assert "1 passed over" in run(*words).err and site.asked == []
    assert "1 answers" in run(*words, "--private").err


@pytest.mark.parametrize("option", ["--timeout", "--delay", "--fresh"])
@pytest.mark.parametrize("value", ["nan", "inf", "1e9", "-1"])
def test_meaningless_numbers_are_misuse(run: Run, rdl: str, tmp_path: Path, option: str, value: str) -> None:
    [line] = run(
        "links", "--results", tmp_path / "results.tsv", "--namespace", rdl, option, value, code=2
    ).err.splitlines()
    assert option in line
    assert not (tmp_path / "results.tsv").exists()


@pytest.mark.parametrize("value", ["nan", "inf", "1e9", "-1"])
def test_a_meaningless_timeout_of_an_endpoint_is_misuse(run: Run, rdl: str, value: str) -> None:
    words = ("project", "--to", "http://127.0.0.1:9/", "--namespace", rdl, "--timeout", value)
    [line] = run(*words, code=2).err.splitlines()
    assert "--timeout" in line


def test_an_unusable_result_file_is_refused_before_any_request(
    run: Run, mint: Minting, site: Site, tmp_path: Path
) -> None:
    mint("--target", f"{site.address}/200")
    pipe, binary, long = tmp_path / "pipe", tmp_path / "binary", tmp_path / "long"
    os.mkfifo(pipe)
    binary.write_bytes(b"\xff\xfe\x00")
    long.write_text("x" * 2_000_000)
    for place, reason in (
        (pipe, f"{pipe}: it is no regular file"),
        (tmp_path, f"{tmp_path}: it is no regular file"),
        (
            tmp_path / "none" / "x",
            f"there is no folder {tmp_path / 'none'}; make it first; nothing was asked",
        ),
        (binary, "it is no file of results: it is not UTF-8"),
        (long, f"{long}, line 1: it is no file of results"),
        (tmp_path / ("x" * 300), "it cannot be read: File name too long; name another; nothing was asked"),
    ):
        [line] = run("links", "--results", place, "--private", code=3).err.splitlines()
        assert reason in line
    unwritable = Path("/proc/self/results.tsv")  # fails also for root
    assert (
        f"{unwritable}: it cannot be written: No such file"
        in run("links", "--results", unwritable, "--private", code=3).err
    )
    assert "./-" in run("links", "--results", "-", "--private", code=2).err
    assert site.asked == []


def test_the_target_of_a_truncated_row_is_requested_again(tmp_path: Path) -> None:
    file = tmp_path / "results.tsv"
    list(
        link_check.write(
            file,
            [LinkResult(f"http://example.org/{name}", times.of(1_000_000), "answers", 200) for name in "ab"],
        )
    )
    file.write_bytes(file.read_bytes()[:-12])
    assert [*link_check.read(file)] == ["http://example.org/a"]
    list(link_check.write(file, [LinkResult("http://example.org/b", times.of(2_000_000), "answers", 200)]))
    assert [*link_check.read(file)] == ["http://example.org/a", "http://example.org/b"]
    file.write_text("something else\n")
    with pytest.raises(ExchangeError, match="line 1: it is no file of results"):
        link_check.read(file)


def test_a_target_of_any_length_is_read_back(tmp_path: Path) -> None:
    file, target = tmp_path / "results.tsv", "http://example.org/" + "a" * 200_000
    list(
        link_check.write(
            file,
            [
                LinkResult(target, times.of(1_000_000), "broken"),
                LinkResult("http://example.org/b", times.of(1_000_000), "answers", 200),
            ],
        )
    )
    assert [*link_check.read(file)] == [target, "http://example.org/b"]


@pytest.mark.parametrize("target", ["http://ex\u2100mple.org/", "http://[::1/", "http://[x]/"])
def test_a_malformed_address_is_a_broken_link_and_does_not_stop_the_check(site: Site, target: str) -> None:
    good = f"{site.address}/200"
    found = {
        answer.target: answer.outcome
        for answer in link_check.check_all([target, good], Politeness(delay=0, private=True))
    }
    assert found == {target: "broken", good: "answers"}


def test_the_command_reports_and_resumes(run: Run, mint: Minting, site: Site, tmp_path: Path) -> None:
    results = tmp_path / "results.tsv"
    ids = {path: mint("--target", f"{site.address}/{path}") for path in ("200", "404", "moved", "403")}
    mint()
    words = ("links", "--results", results, "--private", "--delay", "0")
    found = run(*words)
    assert sorted(line.split("\t")[:2] for line in found.lines) == sorted(
        [["broken", ids["404"]], ["moved", ids["moved"]], ["unsure", ids["403"]]]
    )
    assert "4 targets, 4 to check" in found.err
    assert found.err.splitlines()[-1] == "idstore: 1 answers, 1 broken, 1 moved, 1 unsure"
    site.asked.clear()
    again = run(*words)
    assert again.out == found.out
    assert {*site.paths()} == {"/403"}
    assert "1 to check" in again.err
    assert "4 to check" in run(*words, "--fresh", "0").err
    assert {one["outcome"] for one in run(*words, "--json").objects} == {
        "answers",
        "broken",
        "moved",
        "unsure",
    }
    assert run(*words, by="carol").out == ""
    assert "no targets" in run(*words, "--namespace", "h").err
    run("links", code=2)


def test_a_killed_check_resumes(run: Run, mint: Minting, site: Site, store: Path, tmp_path: Path) -> None:
    results = tmp_path / "results.tsv"
    targets = [f"{site.address}/200?{number}" for number in range(4)] + [f"{site.address}/slow"]
    for target in targets:
        mint("--target", target)
    words = [
        sys.executable,
        "-m",
        "idstore",
        "--store",
        store,
        "--user",
        "alice",
        "links",
        "--results",
        results,
        "--private",
        "--delay",
        "0",
    ]
    running = subprocess.Popen(
        [str(word) for word in words], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    waited = 0
    while "/slow" not in site.paths() and running.poll() is None and waited < 6000:
        time.sleep(0.01)
        waited += 1
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert {*link_check.read(results)} == {*targets[:4]}
    site.asked.clear()
    site.release.set()
    run("links", "--results", results, "--private", "--delay", "0")
    assert site.paths() == ["/slow"]
    assert {row[2] for row in link_check.read(results).values()} == {"answers"}


def test_resolve_can_check_its_target(run: Run, mint: Minting, site: Site) -> None:
    broken, local = mint("--target", f"{site.address}/404"), mint("--target", f"{site.address}/200")
    found = run("resolve", broken, "--check", "--private")
    assert found.line == f"{site.address}/404"
    assert "broken 404" in found.err
    assert run("resolve", local, "--check", "--private", "--json").object["check"]["outcome"] == "answers"
    site.asked.clear()
    assert "passed over" in run("resolve", local, "--check").err
    run("resolve", local)
    run("list")
    run("export")
    assert site.asked == []
