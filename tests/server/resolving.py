"""A server with identifiers whose addresses, targets and stages are known."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest
from serving import ALICE, Reply, Server

import idstore
from idstore import Registry, Request, Statement
from idstore.model.party import Party
from idstore.model.record import Stage
from idstore.registry.imports.enroll import Listed

CAROL: Final = Party("carol")
PDF: Final = (
    "http://www.nationalarchives.gov.uk/PRONOM/Format/proFormatSearch.aspx?status=detailReport&id=619"
)
POLICY: Final = "http://www.pilin.net.au/Project_Documents/Policy_Documents/Handle_Suffix_Format.htm"
HOSTILE: Final = "<script>alert(1)</script>\u202e\"'>&lt;"

DRAFTS: Final = {
    "rdl": ("R1230984567", "R1230984576"),
    "h": ("there0001", "never0001"),
    "pilin": ("2RDV0T0QH", "3RDV0T0QH"),
    "pronom": ("fmt/9001", "fmt/9002"),
    "sp": ("00160032/v238i0003/224_br", "00160032/v238i0003/225_br"),
}
"""Labels by namespace: of a created identifier, and of none."""


@dataclass(frozen=True)
class Site:
    """A server, and the IRIs of its RDS/WIP identifiers by what they are."""

    server: Server
    ids: dict[str, str]
    carol: str

    def get(self, path: str, accept: str | None = None, **how: str | None) -> Reply:
        """Send a GET, with a header Accept and others by name, ``_`` for ``-``."""
        headers = {name.replace("_", "-"): value for name, value in how.items() if value is not None}
        token = headers.pop("token", None)
        method = headers.pop("method", "GET")
        if accept is not None:
            headers["Accept"] = accept
        return self.server.ask(method, path, token=token, headers=headers)

    def at(self, name: str) -> str:
        """Return the address of an identifier by what it is."""
        return f"/id/rdl/{self.ids[name].partition('#')[2]}"


def fill(registry: Registry) -> dict[str, str]:
    """Make a namespace of each kind with identifiers, and return the IRIs of those that are not chosen."""
    registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
    registry.add_namespace("h", "10.1000", "handle", ALICE)
    registry.add_namespace("dlib", "10.1045", "handle", ALICE)
    registry.add_namespace("pilin", "102.100.272", "pilin", ALICE, {"cite_as": "PILIN"})
    registry.add_namespace("pronom", "info:pronom/", "puid", ALICE, {"authority": "own"})
    registry.add_namespace("sp", "http://journals.example.org/", "scholars-portal", ALICE)
    licence = "https://creativecommons.org/publicdomain/zero/1.0/"
    registry.set_namespace("rdl", {"licence": licence, "publisher": "The RDL group"}, ALICE)
    for name, label, target in (
        ("pilin", "0N8J991QH", "http://www.pilin.net.au/"),
        ("pilin", "Y35XYS0QH", POLICY),
        ("sp", "19360851/v04i0010/6153_dsognooinira", "https://journals.scholarsportal.info/"),
        ("sp", "03054179/v31i0004/530_apcbttsfhh", "https://journals.scholarsportal.info/"),
    ):
        registry.enrol(name, [Listed(line=1, id=label, leads_to=target)], ALICE, "published")
    for label in ("fmt/18", "x-fmt/263", "fmt/978"):
        registry.enrol("pronom", [Listed(line=1, id=label, leads_to=PDF)], ALICE, "PRONOM")
    paskin = "http://www.dlib.org/dlib/april06/paskin/04paskin.html"
    registry.enrol("dlib", [Listed(line=1, id="april2006-paskin", leads_to=paskin)], ALICE, "published")
    registry.enrol("dlib", [Listed(line=1, id="doc")], ALICE, "published")
    for label in ("doc", "a/b c?d", "über", "line\nend"):
        listed = Listed(line=1, id=f"hdl:10.1000/{label}", leads_to="https://example.org/straße")
        registry.enrol("h", [listed], ALICE, "published")
    for name, (hidden, _) in DRAFTS.items():
        listed = Listed(
            line=1, id=hidden, name="unpublished", stage=Stage.CREATED, leads_to="http://example.org/"
        )
        registry.enrol(name, [listed], ALICE, "drafts")
    return {name: _minted(registry, name) for name in _MADE}


_MADE: Final = {
    "led": Request(name="ball valve", lang="en", target="http://example.org/valve"),
    "bare": Request(name="no target"),
    "draft": Request(name="a draft", target="http://example.org/draft"),
    "mailto": Request(target="mailto:alice@example.org"),
    "script": Request(target="javascript:alert(1)", force=True),
    "hostile": Request(name=HOSTILE, comment=f"{HOSTILE}\nsecond line"),
    "newer": Request(target="http://example.org/newer"),
    "newest": Request(),
    "superseded": Request(),
    "split": Request(),
    "deprecated": Request(target="http://example.org/old"),
    "buried": Request(name="abuse", target="http://example.org/abuse"),
}


def _minted(registry: Registry, name: str) -> str:
    party = CAROL if name == "draft" else ALICE
    iri = registry.mint("rdl", party, _MADE[name]).iri
    if name != "draft":
        registry.fixate([iri], ALICE)
    return iri


def act(registry: Registry, ids: dict[str, str]) -> None:
    """Bind, supersede, deprecate and revoke."""
    registry.bind(ids["led"], Statement("http://www.wikidata.org/entity/Q1", note="the same"), ALICE)
    registry.bind(ids["led"], Statement("http://www.wikidata.org/entity/Q1"), Party("bob"))
    registry.bind(ids["hostile"], Statement("javascript:alert(2)", note=HOSTILE, force=True), ALICE)
    registry.comment(ids["led"], "in use since 1999", ALICE)
    registry.comment(ids["led"], "only for the list", ALICE, internal=True)
    registry.supersede(ids["superseded"], [ids["newer"]], ALICE)
    registry.supersede(ids["split"], [ids["newer"], ids["newest"]], ALICE)
    registry.deprecate(ids["deprecated"], "there is a better one", ALICE, [ids["newer"]])
    registry.bind(ids["buried"], Statement("http://example.org/more-abuse"), ALICE)
    registry.revoke(ids["buried"], "it was advertising", ALICE)


@pytest.fixture(scope="session")
def resolving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve a store with identifiers of all schemes and stages."""
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    store = tmp_path_factory.mktemp("r") / "store"
    with idstore.open(store, administrator=ALICE) as registry:
        ids = fill(registry)
        act(registry, ids)
    settings = store.with_name("settings.toml")
    settings.write_text('[resolution]\nhosts = ["rdl.example.org", "journals.example.org"]\n')
    with Server(store, ("--settings", str(settings))) as serving:
        yield Site(serving, ids, serving.token(CAROL))
