"""The pages of resolution in a browser: looks, keyboard, scripts, and texts of others."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, Final

import pytest
from browsing import MARKS, browser, until
from resolving import Site
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

pytestmark = MARKS
PHONE, DESK = (360, 800), (1200, 900)


@contextmanager
def visiting(site: Site, *, scripts: bool) -> Iterator[webdriver.Chrome]:
    """Start a browser that finds the hosts of the bases at the server."""
    with browser(
        f"--host-resolver-rules=MAP *.example.org:80 127.0.0.1:{site.server.port}",
        "--disable-features=HttpsUpgrades",
        preferences=None if scripts else {"profile.managed_default_content_settings.javascript": 2},
        logs={"browser": "ALL"},
    ) as made:
        yield made


@pytest.fixture(scope="module")
def driver(resolving: Site) -> Iterator[webdriver.Chrome]:
    with visiting(resolving, scripts=True) as made:
        yield made


@pytest.fixture(scope="module")
def without_scripts(resolving: Site) -> Iterator[webdriver.Chrome]:
    with visiting(resolving, scripts=False) as made:
        yield made


def show(driver: webdriver.Chrome, site: Site, path: str, size: tuple[int, int] = DESK) -> None:
    width, height = size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size is PHONE}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    driver.get(site.server.address.rstrip("/") + path)


def heading(driver: webdriver.Chrome) -> str:
    return driver.find_element(By.TAG_NAME, "h1").text


def complaints(driver: webdriver.Chrome) -> list[Any]:
    """Return what axe finds, and what it cannot decide."""
    driver.execute_script((files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8"))
    found = driver.execute_async_script("axe.run().then(arguments[0])")
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]]


PAGES: Final = {
    "led": "?noredirect",
    "split": "",
    "buried": "",
    "hostile": "?noredirect",
    "/hdl/102.100.272/Y35XYS0QH?noredirect": "",
    "/id/rdl": "",
    "/id/rdl/R1": "",
    "/resolve?id=doc": "",
    "/": "",
}
LOOKS: Final = [("light", PHONE), ("dark", DESK), ("light", DESK), ("dark", PHONE)]


@pytest.mark.parametrize(
    ("page", "colours", "size"),
    [
        pytest.param(page, *look, marks=() if page == "led" and look in LOOKS[:2] else pytest.mark.slow)
        for page in PAGES
        for look in LOOKS
    ],
)
def test_the_pages_are_accessible_and_fit(
    driver: webdriver.Chrome, resolving: Site, page: str, colours: str, size: tuple[int, int]
) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": colours}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    show(driver, resolving, page if page.startswith("/") else resolving.at(page) + PAGES[page], size)
    assert complaints(driver) == []
    assert driver.execute_script("return document.documentElement.scrollWidth") <= size[0]


def test_a_record_page_shows_the_record(driver: webdriver.Chrome, resolving: Site) -> None:
    show(driver, resolving, "/hdl/102.100.272/Y35XYS0QH?noredirect")
    assert heading(driver) == "102.100.272/Y35XYS0QH"
    text = driver.find_element(By.TAG_NAME, "main").text
    for form in (
        "PILIN/Y35XYS0QH",
        "hdl:102.100.272/Y35XYS0QH",
        "http://resolver.net.au/hdl/102.100.272/Y35XYS0QH",
    ):
        assert form in text
    assert "Permanent: it is never released" in text
    size = driver.find_element(By.TAG_NAME, "h1").value_of_css_property("font-size")
    assert float(size.removesuffix("px")) >= 32


def test_texts_of_others_are_shown_and_not_run(driver: webdriver.Chrome, resolving: Site) -> None:
    for path in (
        resolving.at("hostile") + "?noredirect",
        "/resolve?id=" + "%3Cscript%3Ealert(1)%3C/script%3E%E2%80%AE",
    ):
        show(driver, resolving, path)
        page = driver.find_element(By.TAG_NAME, "main")
        assert "<script>alert(1)</script>" in page.text
        assert "\u202e" not in (page.get_attribute("innerHTML") or "")
        assert driver.find_elements(By.CSS_SELECTOR, "main script, a[href^=javascript]") == []


def test_pages_ask_for_nothing_from_elsewhere(driver: webdriver.Chrome, resolving: Site) -> None:
    show(driver, resolving, resolving.at("hostile") + "?noredirect")
    names = driver.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
    assert names
    assert all(name.startswith(resolving.server.address) for name in names)


def test_the_keyboard_reaches_everything(driver: webdriver.Chrome, resolving: Site) -> None:
    show(driver, resolving, resolving.at("led") + "?noredirect")
    reached, outlines = [], set()
    for _ in range(60):
        driver.switch_to.active_element.send_keys(Keys.TAB)
        element = driver.switch_to.active_element
        reached.append(element.get_attribute("outerHTML") or "")
        if element.tag_name == "body":
            break
        outlines |= {element.value_of_css_property("outline-style")} if element.tag_name == "a" else set()
    assert 'class="skip"' in reached[0]
    links = driver.find_elements(By.CSS_SELECTOR, "a[href]")
    assert {one.get_attribute("outerHTML") for one in links} <= {*reached}
    assert outlines == {"solid"}


def test_an_address_with_a_fragment_leads_to_the_record(driver: webdriver.Chrome, resolving: Site) -> None:
    driver.get_log("browser")  # type: ignore[no-untyped-call]
    driver.get(resolving.ids["led"])
    label = resolving.ids["led"].partition("#")[2]
    until(driver, lambda: heading(driver) == label)
    assert driver.current_url.startswith("http://rdl.example.org/id/rdl?")
    assert [entry for entry in driver.get_log("browser") if "favicon" not in entry["message"]] == []  # type: ignore[no-untyped-call]


def test_a_fragment_of_nothing_is_not_found(driver: webdriver.Chrome, resolving: Site) -> None:
    for fragment in ("R1", "%3Cb%3E", "%", "a&noredirect=x#b"):
        driver.get(f"http://rdl.example.org/data#{fragment}")
        until(driver, lambda: heading(driver) == "No such identifier")
    assert resolving.ids


def test_without_scripts_a_form_finds_the_record(without_scripts: webdriver.Chrome, resolving: Site) -> None:
    label = resolving.ids["led"].partition("#")[2]
    without_scripts.get(resolving.ids["led"])
    assert heading(without_scripts) == "rdl"
    without_scripts.find_element(By.ID, "label").send_keys(label, Keys.ENTER)
    until(without_scripts, lambda: heading(without_scripts) == label)


def test_any_form_is_found_from_the_first_page(without_scripts: webdriver.Chrome, resolving: Site) -> None:
    without_scripts.get(resolving.server.address)
    without_scripts.find_element(By.ID, "id").send_keys("hdl:10.1000/über", Keys.ENTER)
    until(without_scripts, lambda: re.search("10.1000/über", heading(without_scripts)) is not None)
