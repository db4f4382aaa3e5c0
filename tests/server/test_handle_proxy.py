"""Redirects from handles, by a server process: parameters, aliases, locations, caches, drafts of others."""

import socket
from collections.abc import Iterator

import pytest

from idstore.model import times

pytest.importorskip("uvicorn", reason="the extra server is not installed")

from serving import ALICE, BOB, Reply, Server

import idstore
from idstore.registry.handle_values import Draft

# Handle.Net technical manual, version 9, "10320/loc handle type"
LOCATIONS = """<locations>
<location id="0" href="http://uk.example.com/" country="gb" weight="0" />
<location id="1" href="http://www1.example.com/" weight="1" />
<location id="2" href="http://www2.example.com/" weight="1" />
</locations>"""
STATUSES = """<locations><location id="a" http_sc="303" href="http://a.example/"/>
<location id="b" http_sc="308" href_template="http://b.example/{hdl:path}?{hdl}"/>
<location id="c" http_sc="200" href="http://c.example/"/></locations>"""


def values(*pairs: tuple[str, str] | Draft) -> list[Draft]:
    return [one if isinstance(one, Draft) else Draft(*one) for one in pairs]


HANDLES = {
    # doc/REST-API.txt of the Handle.Net software, without its administrator
    "4263537/4000": values(
        ("URL", "http://www.handle.net/index.html"), ("EMAIL", "hdladmin@cnri.reston.va.us")
    ),
    "4263537/two": values(("URL", "http://one.example/x"), ("URL", "http://two.example/y?q=1")),
    "4263537/sub": values(("URL.mirror", "http://mirror.example/"), ("URL", "http://main.example/")),
    "4263537/loc": values(("10320/loc", LOCATIONS)),
    "4263537/statuses": values(("10320/loc", STATUSES)),
    "4263537/alias": values(("HS_ALIAS", "4263537/4000")),
    "4263537/to-draft": values(("HS_ALIAS", "4263537/draft")),
    "4263537/to-other": values(("HS_ALIAS", "4263537/other")),
    "4263537/email": values(("EMAIL", "a@b.example")),
    "4263537/mail": values(("URL", "mailto:a@b.example")),
    "4263537/bare": values(("URL", "http://bare.example")),
    "4263537/iri": values(("URL", "http://bücher.example/ä?ö#ü")),
    "4263537/long": values(Draft("URL", "http://long.example/", ttl=10_000_000)),
    "4263537/brief": values(Draft("URL", "http://brief.example/", ttl=60)),
    "4263537/never": values(Draft("URL", "http://never.example/", ttl=0)),
    "4263537/past": values(Draft("URL", "http://past.example/", until=times.of(1_000_000_000_000))),
    "4263537/a?b": values(("URL", "http://question.example/")),
    "777/h": values(("URL", "http://through.example/tree")),
    "777/q": values(("URL", "http://through.example/tree?a=1")),
}


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("p")
    store, settings = folder / "store", folder / "settings.toml"
    settings.write_text('[resolution]\ncountry_header = "X-Country"\n')
    with idstore.open(store, administrator=ALICE) as registry:
        registry.add_namespace("h", "4263537", "handle", ALICE)
        registry.add_namespace("through", "777", "handle", ALICE, {"pass_through": "true"})
        for handle, drafts in HANDLES.items():
            prefix, _, label = handle.partition("/")
            registry.register("h" if prefix == "4263537" else "through", label, ALICE)
            for draft in drafts:
                registry.set_value(f"hdl:{handle}", draft, ALICE)
        registry.fixate([f"hdl:{handle}" for handle in HANDLES], ALICE)
        for name, label in (("h", "draft"), ("through", "draft")):
            iri = registry.register(name, label, BOB).iri
            registry.target(iri, "http://secret.example/", BOB)
        registry.register("h", "gone", ALICE)
        registry.target("hdl:4263537/gone", "http://gone.example/", ALICE)
        registry.fixate(["hdl:4263537/gone"], ALICE)
        registry.revoke("hdl:4263537/gone", "wrong", ALICE)
    with Server(store, ("--settings", str(settings), "--proxy", "127.0.0.1")) as serving:
        yield serving


def leads(reply: Reply) -> tuple[int, str | None]:
    return reply.status, reply.headers.get("location")


@pytest.mark.parametrize("door", ["/hdl/", "/handle/"])
@pytest.mark.parametrize(
    ("path", "status", "address"),
    [
        ("4263537/4000", 302, "http://www.handle.net/index.html"),
        ("4263537/4000?noredirect", 200, None),
        ("4263537/4000?noredirect=true;x=y", 200, None),
        ("4263537/4000?action=showvalues", 200, None),
        ("4263537/4000?unknown=1", 302, "http://www.handle.net/index.html"),
        ("4263537/two?index=2", 302, "http://two.example/y?q=1"),
        ("4263537/two?index=3", 404, None),
        ("4263537/two?type=EMAIL", 404, None),
        ("4263537/4000?type=EMAIL", 200, None),
        ("4263537/4000?type=url", 302, "http://www.handle.net/index.html"),
        ("4263537/sub", 302, "http://main.example/"),
        ("4263537/sub?type=URL.mirror", 302, "http://mirror.example/"),
        ("4263537/loc?locatt=id:1", 302, "http://www1.example.com/"),
        ("4263537/loc?locatt=id:0", 302, "http://uk.example.com/"),
        ("4263537/loc?locatt=country:gb", 302, "http://uk.example.com/"),
        ("4263537/statuses?locatt=id:a", 303, "http://a.example/"),
        ("4263537/statuses?locatt=id:b", 308, "http://b.example/4263537/statuses?4263537%2Fstatuses"),
        ("4263537/statuses?locatt=id:c", 302, "http://c.example/"),
        ("4263537/alias", 302, "http://www.handle.net/index.html"),
        ("4263537/alias?urlappend=%23a", 302, "http://www.handle.net/index.html#a"),
        ("4263537/alias?ignore_aliases", 200, None),
        ("4263537/alias?type=HS_ALIAS", 200, None),
        ("4263537/email", 200, None),
        ("4263537/mail", 200, None),
        ("4263537/mail?urlappend=x", 200, None),
        ("4263537/iri", 302, "http://xn--bcher-kva.example/%C3%A4?%C3%B6#%C3%BC"),
        ("4263537/two?urlappend=/sub?p=1", 302, "http://one.example/x/sub?p=1"),
        ("4263537/bare?urlappend=@evil.example", 302, "http://bare.example/@evil.example"),
        ("4263537/bare?urlappend=.evil.example", 302, "http://bare.example/.evil.example"),
        ("4263537/bare?urlappend=:80@evil.example", 302, "http://bare.example/:80@evil.example"),
        ("4263537/bare?urlappend=%0d%0aX-Evil:%201", 302, "http://bare.example/%0D%0AX-Evil:%201"),
        ("4263537/bare?urlappend=%5c%5cevil.example", 302, "http://bare.example/%5C%5Cevil.example"),
        ("4263537/a%3Fb", 302, "http://question.example/"),
        ("4263537/4000/", 404, None),
        ("4263537/4000/x", 404, None),
        ("4263537/gone", 410, None),
        ("777/h", 302, "http://through.example/tree"),
        ("777/h/a%20b/c.txt", 302, "http://through.example/tree/a%20b/c.txt"),
        ("777/h@part", 302, "http://through.example/tree@part"),
        ("777/h%23part", 302, "http://through.example/tree#part"),
        ("777/h?page=2&noredirect2=1", 302, "http://through.example/tree?page=2&noredirect2=1"),
        ("777/q/x?page=%32&locatt=a", 302, "http://through.example/tree?a=1/x&page=%32"),
        ("777/h%3Fx=1?y=2", 302, "http://through.example/tree?x=1&y=2"),
        ("777/h/%2e%2e/secret", 404, None),
        ("777/other/x", 404, None),
        ("777/draft/x", 404, None),
    ],
)
def test_a_handle_leads_where_a_proxy_leads(
    proxy: Server, door: str, path: str, status: int, address: str | None
) -> None:
    assert leads(proxy.ask("GET", door + path)) == (status, address)


@pytest.mark.parametrize(
    ("query", "status"), [("index=a", 422), ("index=-1", 422), ("locatt=%ff", 422), ("type=%ff", 422)]
)
def test_a_malformed_parameter_is_refused(proxy: Server, query: str, status: int) -> None:
    assert proxy.ask("GET", f"/hdl/4263537/two?{query}").status == status


def test_a_choice_by_weight_leaves_out_what_has_none(proxy: Server) -> None:
    chosen = {leads(proxy.ask("GET", "/hdl/4263537/loc"))[1] for _ in range(40)}
    assert chosen == {"http://www1.example.com/", "http://www2.example.com/"}


def test_a_country_counts_from_a_reverse_proxy_alone(proxy: Server) -> None:
    country = {"X-Country": "GB"}
    proxied = proxy.ask("GET", "/hdl/4263537/loc", headers={**country, "X-Forwarded-For": "192.0.2.1"})
    assert leads(proxied) == (302, "http://uk.example.com/")
    direct = proxy.ask("GET", "/hdl/4263537/loc", headers=country)
    assert leads(direct) != (302, "http://uk.example.com/")


@pytest.mark.parametrize(
    ("handle", "control"),
    [
        ("4000", "public, max-age=86400"),
        ("long", "public, max-age=172800"),
        ("brief", "public, max-age=60"),
        ("never", "no-cache"),
        ("past", "no-cache"),
        ("alias", "no-cache"),
        ("loc", "no-cache"),
        ("to-draft", "no-cache"),
        ("absent", "private, no-store"),
    ],
)
def test_caches_keep_what_everyone_gets(proxy: Server, handle: str, control: str) -> None:
    path = f"/hdl/4263537/{handle}"
    assert proxy.ask("GET", path).headers["cache-control"] == control
    assert proxy.ask("GET", path, token=proxy.token(BOB)).headers["cache-control"] == "private, no-store"


def test_drafts_of_others_are_as_absent(proxy: Server) -> None:
    for form in (
        "4263537/{}",
        "4263537/to-{}",
        "777/{}/x",
        "777/{}@x",
        "777/{}?index=1",
        "4263537/to-{}?type=URL",
    ):
        answers = set()
        for label in ("draft", "other"):
            reply = proxy.ask("GET", f"/hdl/{form.format(label)}")
            headers = sorted((name, text) for name, text in reply.headers.items() if name != "date")
            answers.add(str((reply.status, headers, reply.body)).replace(label, "L"))
        assert len(answers) == 1, form
    bob = proxy.token(BOB)
    assert leads(proxy.ask("GET", "/hdl/777/draft/x", token=bob)) == (302, "http://secret.example/x")
    assert leads(proxy.ask("GET", "/hdl/4263537/to-draft", token=bob)) == (302, "http://secret.example/")
    hidden = leads(proxy.ask("GET", "/hdl/4263537/to-draft"))
    assert hidden == (302, "https://hdl.handle.net/4263537/draft")


def test_an_old_client_gets_a_status_that_it_knows(proxy: Server) -> None:
    with socket.create_connection(("127.0.0.1", proxy.port), 10) as connection:
        connection.sendall(b"GET /hdl/4263537/statuses?locatt=id:b HTTP/1.0\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 302 ")


def test_the_record_can_be_asked_for(proxy: Server) -> None:
    turtle = proxy.ask("GET", "/hdl/4263537/4000", headers={"Accept": "text/turtle"})
    assert turtle.status == 200 and turtle.headers["content-type"].startswith("text/turtle")
    assert b"http://secret.example/" not in turtle.body
    head = proxy.ask("HEAD", "/hdl/4263537/4000")
    assert leads(head) == (302, "http://www.handle.net/index.html") and head.body == b""
