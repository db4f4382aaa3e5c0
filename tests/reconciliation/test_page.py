"""The page in a real browser: a curator sorts, searches, decides and saves; the decisions are applied."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from browsing import MARKS, browser, until
from command_lines import RDL, Minting, Run
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

pytestmark = MARKS

WD: Final = "http://www.wikidata.org/entity/"
CURATOR: Final = "https://orcid.org/0000-0002-1825-0097"


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def driver(downloads: Path) -> Iterator[webdriver.Chrome]:
    """Yield a browser without network access that records its requests."""
    with browser(
        "--window-size=1300,1000",
        preferences={"download.default_directory": str(downloads), "download.prompt_for_download": False},
        logs={"performance": "ALL", "browser": "ALL"},
    ) as made:
        yield made


@pytest.fixture
def identifiers(run: Run, mint: Minting, tmp_path: Path) -> list[str]:
    """Create a registry with several faults, a table that contradicts it, and the page on both."""
    made = [mint("--name", name) for name in ("ball valve", "Kugelhahn <&>", "gate valve")]
    run("fixate", *made)
    for number in (1, 2):
        run("bind", made[0], f"{WD}Q{number}")
    run("bind", made[1], f"{WD}Q2", "--confidence", "0.4", by="bob")
    table = tmp_path / "other.sssom.tsv"
    rows = [
        "subject_id\tpredicate_id\tobject_id\tconfidence\tauthor_id\tobject_label",
        f"{made[2]}\tskos:exactMatch\t{WD}Q10\t0.75\torcid:0000-0001\tball",
    ]
    table.write_text(
        "#curie_map:\n#  orcid: https://orcid.org/\n" + "".join(f"{row}\n" for row in rows), encoding="utf-8"
    )
    run("reconcile", tmp_path / "store", table, "-o", tmp_path / "page.html")
    return made


@pytest.fixture
def page(driver: webdriver.Chrome, identifiers: list[str], tmp_path: Path) -> Iterator[webdriver.Chrome]:
    assert identifiers
    driver.get_log("performance")  # type: ignore[no-untyped-call]
    driver.get((tmp_path / "page.html").as_uri())
    ready(driver)
    yield driver
    assert asked(driver) <= {"file", "blob", "data"}, "the page asks the network for something"
    assert driver.get_log("browser") == []  # type: ignore[no-untyped-call]


def asked(driver: webdriver.Chrome) -> set[str]:
    """Return the schemes of all requests since the last call."""
    log: list[dict[str, str]] = driver.get_log("performance")  # type: ignore[no-untyped-call]
    messages: list[dict[str, Any]] = [json.loads(entry["message"])["message"] for entry in log]
    return {
        one["params"]["request"]["url"].partition(":")[0]
        for one in messages
        if one["method"] == "Network.requestWillBeSent"
    }


def ready(page: webdriver.Chrome) -> None:
    """Wait until the page has opened its database. A reload before that loses what was typed."""
    page.execute_async_script("database.finally(arguments[0])")


def rows(page: webdriver.Chrome, kind: str) -> list[WebElement]:
    return [row for row in page.find_elements(By.CSS_SELECTOR, f"#{kind} tbody tr") if row.is_displayed()]


def abouts(page: webdriver.Chrome, kind: str) -> list[str]:
    return [
        row.find_element(By.CSS_SELECTOR, "td.about").get_attribute("data-sort") or ""
        for row in rows(page, kind)
    ]


def chooser(page: webdriver.Chrome, kind: str, id: str, target: str) -> Select:
    return Select(
        page.find_element(By.CSS_SELECTOR, f'#{kind} select[data-id="{id}"][data-target="{target}"]')
    )


def counted(page: webdriver.Chrome) -> str:
    return page.find_element(By.ID, "count").text


def cells(table: Path) -> list[dict[str, str]]:
    """Return the rows of a table, each as column → cell."""
    head, *lines = (line.split("\t") for line in table.read_text(encoding="utf-8").splitlines())
    return [dict(zip(head, line, strict=True)) for line in lines]


def test_the_page_is_complete_and_sends_no_requests(page: webdriver.Chrome, identifiers: list[str]) -> None:
    sections = [
        section.get_attribute("id") for section in page.find_elements(By.CSS_SELECTOR, "main section")
    ]
    assert sections == ["several-targets", "claimed-twice", "joined", "lacking"]
    [link] = page.find_elements(By.CSS_SELECTOR, "#several-targets td.about a")
    assert link.get_attribute("href") == identifiers[0]
    assert "Kugelhahn <&>" in page.find_element(By.ID, "lacking").text, "markup in a name is text"


def test_links_in_the_contents_lead_to_their_kind(page: webdriver.Chrome) -> None:
    page.find_element(By.CSS_SELECTOR, 'nav a[href="#lacking"]').click()
    until(page, lambda: bool(page.execute_script("return location.hash === '#lacking' && scrollY > 0")))


def test_a_click_sorts_numerically_and_a_second_click_reverses_the_order(page: webdriver.Chrome) -> None:
    head = page.find_element(By.CSS_SELECTOR, "#lacking th:first-child")
    before = abouts(page, "lacking")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", head)
    head.find_element(By.TAG_NAME, "button").click()
    assert (head.get_attribute("aria-sort"), abouts(page, "lacking")) == ("ascending", sorted(before))
    head.find_element(By.TAG_NAME, "button").click()
    assert (head.get_attribute("aria-sort"), abouts(page, "lacking")) == (
        "descending",
        sorted(before, reverse=True),
    )


def test_a_search_shows_only_matching_rows(page: webdriver.Chrome, identifiers: list[str]) -> None:
    many = len(rows(page, "lacking"))
    page.find_element(By.ID, "find").send_keys("GATE VALVE")
    until(page, lambda: len(rows(page, "lacking")) < many)
    assert set(abouts(page, "lacking")) == {identifiers[2]}
    assert rows(page, "several-targets") == []
    page.find_element(By.ID, "find").clear()
    page.find_element(By.ID, "find").send_keys(" ")
    until(page, lambda: len(rows(page, "lacking")) == many)


def test_a_cluster_is_drawn_with_its_weakest_link_emphasised(page: webdriver.Chrome) -> None:
    [picture] = page.find_elements(By.CSS_SELECTOR, "#joined svg")
    assert picture.rect["width"] > 200 and picture.rect["height"] > 70
    assert len(picture.find_elements(By.TAG_NAME, "path")) == 3
    assert len(picture.find_elements(By.CSS_SELECTOR, "path.weak")) == 2, (
        "two targets of one kind come together, and two identifiers"
    )
    assert len(picture.find_elements(By.CSS_SELECTOR, "circle")) == 4
    assert len(picture.find_elements(By.CSS_SELECTOR, "circle.twin")) == 4, (
        "two identifiers of the registry, two of Wikidata"
    )
    details = [item.text for item in page.find_elements(By.CSS_SELECTOR, "#joined ul.claims li")]
    assert [text.partition(" joins ")[0].partition(":")[0] for text in details[:2]] == [
        "the doubtful link",
        "also doubtful",
    ]


def test_each_row_has_names_and_the_decision_in_words(page: webdriver.Chrome, identifiers: list[str]) -> None:
    [row] = rows(page, "joined")
    assert row.find_element(By.CSS_SELECTOR, "p.decide").text == (
        "Two of our identifiers end up meaning the same thing; this is the doubtful link:"
        f" {identifiers[1]} “Kugelhahn <&>” → {WD}Q2"
    )
    for kind in ("several-targets", "claimed-twice", "lacking"):
        for row in rows(page, kind):
            assert row.find_element(By.CSS_SELECTOR, "p.decide").text
    [drawing] = page.find_elements(By.CSS_SELECTOR, "#joined svg")
    assert f"{identifiers[0]} “ball valve”" in drawing.text
    [claim] = [
        item.text for item in page.find_elements(By.CSS_SELECTOR, "#lacking li") if f"{WD}Q10" in item.text
    ]
    assert f"{identifiers[2]} “gate valve” skos:exactMatch {WD}Q10 “ball”" in claim


def test_each_name_of_forty_members_is_legible(driver: webdriver.Chrome, run: Run, tmp_path: Path) -> None:
    """No name is covered or cut off; the arc of each statement ends at the dots of its two ends."""
    members = [
        f"{(RDL + 'R', WD + 'Q', 'http://vocab.example.org/things/rather-long-')[number % 3]}{number}"
        for number in range(40)
    ]
    rows = [f"{members[number]}\tskos:exactMatch\t{members[0]}" for number in range(1, 40)]
    rows += [f"{members[number]}\tskos:exactMatch\t{members[number // 2]}" for number in range(1, 40)]
    (tmp_path / "crowd.tsv").write_text(
        "id\trelation\ttarget\n" + "".join(f"{row}\n" for row in rows), encoding="utf-8"
    )
    pages = [tmp_path / f"{number}.html" for number in range(2)]
    for page in pages:
        run("reconcile", tmp_path / "crowd.tsv", "-o", page)
    assert pages[0].read_bytes() == pages[1].read_bytes()
    driver.get(pages[0].as_uri())
    [picture] = driver.find_elements(By.CSS_SELECTOR, "#joined svg")
    names = [name.rect for name in picture.find_elements(By.TAG_NAME, "text")]
    assert len(names) == 40
    upright = sorted(names, key=lambda rect: rect["y"])
    assert all(one["y"] + one["height"] <= other["y"] + 1 for one, other in pairwise(upright))
    around = picture.rect
    assert all(rect["x"] + rect["width"] <= around["x"] + around["width"] for rect in names)
    dots = {
        (dot.get_attribute("cx"), dot.get_attribute("cy"))
        for dot in picture.find_elements(By.TAG_NAME, "circle")
    }
    arcs = [
        re.split("[MA ]", arc.get_attribute("d") or "") for arc in picture.find_elements(By.TAG_NAME, "path")
    ]
    assert len(arcs) == len(set(rows))
    assert all({(arc[1], arc[2]), (arc[-2], arc[-1])} <= dots for arc in arcs)


def test_decisions_are_kept_saved_and_applied(
    page: webdriver.Chrome, identifiers: list[str], downloads: Path, tmp_path: Path, run: Run
) -> None:
    first, second, third = identifiers
    page.find_element(By.ID, "author").send_keys(CURATOR)
    chooser(page, "several-targets", first, f"{WD}Q1").select_by_visible_text("unbind")
    chooser(page, "claimed-twice", second, f"{WD}Q2").select_by_visible_text("closeMatch instead")
    chooser(page, "several-targets", first, f"{WD}Q2").select_by_visible_text("keep")
    chooser(page, "lacking", third, f"{WD}Q10").select_by_visible_text("take over")
    page.refresh()
    until(page, lambda: counted(page) == "4 decisions")
    assert page.find_element(By.ID, "author").get_attribute("value") == CURATOR
    assert chooser(page, "joined", first, f"{WD}Q1").first_selected_option.text == "unbind", (
        "the same statement elsewhere"
    )
    page.find_element(By.ID, "open").click()
    assert rows(page, "several-targets") == [], "everything about it is decided"
    page.find_element(By.ID, "save").click()
    saved = downloads / "decisions.tsv"
    until(page, saved.exists)
    decisions = saved.rename(tmp_path / "decisions.tsv")
    labels = {(row["subject_label"], row["object_label"]) for row in cells(decisions)}
    assert labels == {("ball valve", ""), ("Kugelhahn <&>", ""), ("gate valve", "ball")}

    assert run("reconcile", "--accept", decisions, "--dry-run").lines[0].startswith("line 2\tnew")
    run("reconcile", "--accept", decisions, by="alice")
    bindings = {id: run("show", id, "--json").object["bindings"] for id in identifiers}
    assert [(one["target"], one["relation"].rpartition("#")[2]) for one in bindings[first]] == [
        (f"{WD}Q2", "exactMatch")
    ]
    [close] = bindings[second]
    assert (close["target"], close["by"], close["author"]) == (f"{WD}Q2", "alice", CURATOR)
    assert close["relation"].endswith("closeMatch")
    [taken] = bindings[third]
    assert (taken["target"], taken["confidence"], taken["author"]) == (f"{WD}Q10", 0.75, CURATOR)


def test_a_decision_shows_at_every_place_of_its_statement(
    page: webdriver.Chrome, identifiers: list[str]
) -> None:
    chooser(page, "lacking", identifiers[0], f"{WD}Q1").select_by_visible_text("take over")
    assert (
        chooser(page, "several-targets", identifiers[0], f"{WD}Q1").first_selected_option.text == "take over"
    )
    chooser(page, "several-targets", identifiers[0], f"{WD}Q1").select_by_visible_text("unbind")
    assert chooser(page, "lacking", identifiers[0], f"{WD}Q1").first_selected_option.text == "unbind"


def test_the_page_says_what_was_decided_as_the_summary_of_the_saved_file_does(
    page: webdriver.Chrome, identifiers: list[str], downloads: Path, tmp_path: Path, run: Run
) -> None:
    first, second, third = identifiers
    decided = page.find_element(By.ID, "decided")
    assert not decided.is_displayed()
    chooser(page, "several-targets", first, f"{WD}Q1").select_by_visible_text("unbind")
    chooser(page, "several-targets", first, f"{WD}Q2").select_by_visible_text("keep")
    chooser(page, "claimed-twice", second, f"{WD}Q2").select_by_visible_text("closeMatch instead")
    chooser(page, "lacking", third, f"{WD}Q10").select_by_visible_text("take over")
    page.find_element(By.ID, "author").clear()
    page.find_element(By.ID, "author").send_keys("Ada")
    page.find_element(By.ID, "save").click()
    saved = downloads / "decisions.tsv"
    until(page, saved.exists)
    decisions = saved.rename(tmp_path / "decisions.tsv")
    told = [line.strip() for line in run("reconcile", "--accept", decisions, "--summary").lines]
    assert told[0] == "What was decided by Ada: 1 removed, 1 changed, 1 added, 1 kept"
    assert decided.text.splitlines() == told


def test_decisions_can_be_forgotten(page: webdriver.Chrome, identifiers: list[str]) -> None:
    chooser(page, "several-targets", identifiers[0], f"{WD}Q1").select_by_visible_text("unbind")
    assert counted(page) == "1 decision"
    page.find_element(By.ID, "forget").click()
    assert counted(page) == "0 decisions"


def test_decisions_of_one_window_are_not_lost_in_another(
    page: webdriver.Chrome, identifiers: list[str]
) -> None:
    address, [first] = page.current_url, page.window_handles
    page.switch_to.new_window("tab")
    try:
        page.get(address)
        chooser(page, "several-targets", identifiers[0], f"{WD}Q1").select_by_visible_text("unbind")
        page.switch_to.window(first)
        until(page, lambda: counted(page) == "1 decision")
        chooser(page, "claimed-twice", identifiers[1], f"{WD}Q2").select_by_visible_text("keep")
        assert counted(page) == "2 decisions"
        page.switch_to.window(page.window_handles[-1])
        until(page, lambda: counted(page) == "2 decisions")
    finally:
        page.switch_to.window(page.window_handles[-1])
        page.close()
        page.switch_to.window(first)


def test_text_typed_just_before_a_reload_is_kept(page: webdriver.Chrome) -> None:
    for name in (f"curator {number}" for number in range(20)):
        page.find_element(By.ID, "author").clear()
        page.find_element(By.ID, "author").send_keys(name)
        page.refresh()
        ready(page)
        until(page, lambda: bool(page.find_element(By.ID, "author").get_attribute("value")))
        assert page.find_element(By.ID, "author").get_attribute("value") == name


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(
            "IDBObjectStore.prototype.put = function () { this.transaction.abort(); };",
            id="the database refuses",
        ),
        pytest.param("database.then(base => base.close());", id="the database is gone"),
    ],
)
def test_decisions_that_the_browser_cannot_store_stay_on_the_page_with_a_warning(
    page: webdriver.Chrome, identifiers: list[str], failure: str
) -> None:
    page.execute_script(failure)
    chooser(page, "several-targets", identifiers[0], f"{WD}Q1").select_by_value("keep")
    until(
        page,
        lambda: counted(page) == "1 decision; this browser does not keep them: save them before you leave",
    )
    page.execute_script("dispatchEvent(new Event('focus'))")  # as on coming back from another window
    chooser(page, "several-targets", identifiers[0], f"{WD}Q2").select_by_value("unbind")
    assert counted(page).startswith("2 decisions; this browser does not")
    page.refresh()
    ready(page)
    until(page, lambda: counted(page) == "0 decisions")


def test_a_page_without_findings_states_it(driver: webdriver.Chrome, tmp_path: Path, run: Run) -> None:
    table = tmp_path / "alone.tsv"
    table.write_text(f"id\ttarget\n{RDL}R1\t{WD}Q1\n", encoding="utf-8")
    run("reconcile", table, "-o", tmp_path / "empty.html")
    driver.get((tmp_path / "empty.html").as_uri())
    assert "There is nothing to reconcile." in driver.find_element(By.TAG_NAME, "main").text
