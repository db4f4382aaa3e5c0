"""What the addresses of identifiers tell of created ones to parties that may not see them: nothing.

Each address form is asked for a created and for an absent identifier, by each method, for each format.
"""

from typing import Final
from urllib.parse import quote

import pytest
from resolving import DRAFTS, Site
from serving import ALICE, BOB, Reply

FORMS: Final = {
    "rdl": ["/id/rdl/{}", "/id/rdl?label={}", "/resolve?id=rdl:{}", "/resolve?id={base}{}", "/resolve?id={}"],
    "h": [
        "/hdl/10.1000/{}",
        "/handle/10.1000/{}",
        "/id/h/{}",
        "/resolve?id=hdl:10.1000/{}",
        "/resolve?id={}",
    ],
    "pilin": [
        "/hdl/102.100.272/{}",
        "/handle/102.100.272/{}",
        "/id/pilin/{}",
        "/resolve?id=PILIN/{}",
        "/resolve?id={}",
    ],
    "pronom": ["/pronom/{}", "/PRONOM/{}", "/{}", "/id/pronom/{}", "/resolve?id={}", "/resolve?id={base}{}"],
    "sp": ["/details/{}.xml", "/details.xqy?uri=/{}.xml", "/id/sp/{}", "/resolve?id=/{}"],
}
BASES: Final = {
    "rdl": "http://rdl.example.org/data#",
    "pronom": "info:pronom/",
}
ACCEPTED: Final = [
    None,
    "text/html",
    "text/turtle",
    "application/ld+json",
    "application/n-triples",
    "application/rdf+xml",
    "application/json",
    "application/linkset",
    "application/linkset+json",
    "text/plain",
    "image/png",
    "nonsense",
]
PARAMETERS: Final = ["noredirect", "info", "?", "format=turtle", "format=html", "format=no"]
METHODS: Final = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE"]


def asked(name: str, form: str) -> tuple[str, str]:
    """Return the addresses of the created and of the absent identifier in a form."""
    there, never = (quote(label) for label in DRAFTS[name])
    base = quote(BASES.get(name, ""))
    return form.format(there, base=base), form.format(never, base=base)


EVERY_FORM: Final = [(name, form) for name, forms in FORMS.items() for form in forms]


def comparable(reply: Reply, label: str) -> tuple[object, ...]:
    """Return the whole answer without the time, and without the label that was asked for."""
    body = reply.body
    for text in (label, quote(label), quote(label, safe="")):
        body = body.replace(text.encode(), b"LABEL")
    return reply.status, {**reply.headers, "date": ""}, body


def same(resolving: Site, name: str, form: str, accept: str | None = None, **how: str | None) -> Reply:
    """Ask for both identifiers, compare the answers, and return the one for the created identifier."""
    there, never = asked(name, form)
    replies = [resolving.get(path, accept, **how) for path in (there, never)]
    found, absent = (comparable(reply, label) for reply, label in zip(replies, DRAFTS[name], strict=True))
    assert found == absent
    return replies[0]


@pytest.mark.parametrize(("name", "form"), EVERY_FORM)
def test_a_created_identifier_is_answered_as_an_absent_one(resolving: Site, name: str, form: str) -> None:
    bob = resolving.server.token(BOB)
    for token in (None, bob):
        for accept in ACCEPTED:
            status = same(resolving, name, form, accept, token=token).status
            assert status == (406 if accept in ("image/png", "nonsense") else 404)
        for method in METHODS:
            assert same(resolving, name, form, method=method, token=token).status in (204, 404, 405)
        for parameter in PARAMETERS:
            extended = form + ("&" if "?" in form else "?") + parameter
            assert same(resolving, name, extended, token=token).status in (404, 422)
    for tag in ("*", '"x"'):
        assert same(resolving, name, form, If_None_Match=tag).status == 404


@pytest.mark.parametrize(("name", "form"), EVERY_FORM)
def test_its_owner_sees_the_created_identifier(resolving: Site, name: str, form: str) -> None:
    reply = resolving.get(asked(name, form)[0], "text/turtle", token=resolving.server.token(ALICE))
    assert reply.status == 200
    assert reply.headers["cache-control"] == "private, no-store"
    assert b"unpublished" in reply.body


def test_an_own_host_tells_nothing(resolving: Site) -> None:
    there, never = DRAFTS["sp"]
    for accept in ACCEPTED:
        replies = [
            resolving.get(f"/{label}", accept, Host="journals.example.org") for label in (there, never)
        ]
        found, absent = (
            comparable(reply, label) for reply, label in zip(replies, (there, never), strict=True)
        )
        assert found == absent
    for path, host in (("/data", "rdl.example.org"), ("/", "journals.example.org")):
        for media in ("text/turtle", "application/json", "text/html"):
            assert b"unpublished" not in resolving.get(path, media, Host=host).body


def test_the_root_of_an_own_host_finds_identifiers(resolving: Site) -> None:
    reply = resolving.get("/", "text/html", Host="rdl.example.org")
    assert (reply.status, b'action="/resolve"' in reply.body) == (200, True)


def test_a_page_that_names_a_created_identifier_does_not_tell_that_it_exists(resolving: Site) -> None:
    token = resolving.server.token(ALICE)
    pages = []
    for label in DRAFTS["h"]:
        made = resolving.server.ask(
            "POST", "/api/v1/namespaces/h/registrations", {"label": f"to-{label}"}, token=token
        )
        assert made.status == 201
        iri = f"https://hdl.handle.net/10.1000/to-{label}"
        target = f"https://hdl.handle.net/10.1000/{label}"
        for act, sent in (("bind", {"id": iri, "target": target}), ("fixate", {"ids": [iri]})):
            assert resolving.server.ask("POST", f"/api/v1/{act}", sent, token=token).status == 200
        pages.append(resolving.get(f"/hdl/10.1000/to-{label}?noredirect", "text/html"))
    assert [page.status for page in pages] == [200, 200]
    assert all(b"its record here" not in page.body for page in pages)
