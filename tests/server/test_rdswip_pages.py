"""The RDS/WIP pages in a real browser, and hostile pages beside them."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from browsing import MARKS, browser, until
from command_lines import RDL
from rdswip_clients import encoded
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.expected_conditions import staleness_of
from serving import Server, wait_until
from test_rdswip import acquired, ask, comments, elements, minted

pytestmark = MARKS

PAGE: Final = """<!doctype html><title>hostile</title>
<meta name="referrer" content="{referrer}">
<link rel="prefetch" href="{acquire}&registry-comment=link-prefetch">
<link rel="stylesheet" href="{acquire}&registry-comment=style">
<script type="speculationrules">{{"prefetch": [{{"urls": ["{acquire}&registry-comment=rule"], "eagerness": "immediate"}}],
 "prerender": [{{"urls": ["{acquire}&registry-comment=prerender"], "eagerness": "immediate"}}]}}</script>
<img src="{acquire}&registry-comment=img"><img src="{fixate}">
<img src="{later}">
<iframe src="{acquire}&registry-comment=frame" name="frame"></iframe>
<iframe name="target"></iframe>
<script src="{acquire}&registry-comment=script"></script>
<video src="{acquire}&registry-comment=video"></video>
<object data="{acquire}&registry-comment=object"></object>
<a id="link" href="{acquire}&registry-comment=clicked">link</a>
<a id="bare" rel="noreferrer" href="{fixate}">link</a>
<form id="get" action="{registry}"><input name="registry-op" value="fixate"><input name="registry-id" value="{id}"></form>
<form id="post" method="post" action="{registry}" target="target">
<input name="registry-op" value="fixate"><input name="registry-id" value="{id}"></form>
<script>
const addresses = ["{acquire}&registry-comment=fetched", "{fixate}"];
const options = [{{mode: "no-cors"}}, {{mode: "cors"}}, {{mode: "no-cors", referrerPolicy: "no-referrer"}},
  {{mode: "cors", method: "POST"}}, {{mode: "no-cors", method: "HEAD"}},
  {{mode: "no-cors", method: "POST", body: new URLSearchParams({{"registry-op": "fixate", "registry-id": "{id}"}})}}];
const attempts = addresses.flatMap(address => options.map(option =>
  fetch(address, {{credentials: "include", cache: "no-store", ...option}}).catch(() => null)));
navigator.sendBeacon("{registry}", new URLSearchParams({{"registry-op": "fixate", "registry-id": "{id}"}}));
document.getElementById("post").submit();
Promise.all(attempts).then(() => addEventListener("load", () => document.title = "tried"));
Promise.all(attempts).then(() => {{ if (document.readyState === "complete") document.title = "tried"; }});
</script>
"""  # noqa: E501


@pytest.fixture(scope="module")
def driver() -> Iterator[webdriver.Chrome]:
    with browser() as made:
        yield made


@pytest.fixture
def signed_in(driver: webdriver.Chrome, server: Server, alice: str) -> webdriver.Chrome:
    """Return the browser, which now holds the credentials of alice for the server."""
    driver.get(server.address.replace("http://", f"http://alice:{alice}@") + "registry?registry-op=ui")
    assert "Signed in as alice" in text(driver)
    return driver


@pytest.fixture
def hostile() -> Iterator[tuple[dict[str, str], int]]:
    """Serve pages of another origin: their paths and contents, and the port."""
    contents: dict[str, str] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = contents.get(self.path, "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield contents, serving.server_port
        serving.shutdown()
        thread.join()


def text(driver: webdriver.Chrome) -> str:
    return driver.find_element(By.TAG_NAME, "body").text


def button(driver: webdriver.Chrome, words: str) -> WebElement:
    return driver.find_element(By.XPATH, f"//button[.='{words}']")


def press(driver: webdriver.Chrome, words: str) -> None:
    """Press a button, and wait for the page that answers."""
    former = driver.find_element(By.TAG_NAME, "html")
    button(driver, words).click()
    until(driver, lambda: staleness_of(former)(driver))
    until(driver, lambda: driver.find_elements(By.CSS_SELECTOR, "[role]"))


def stage(server: Server, token: str, id: str) -> str:
    return dict(elements(ask(server, token, op="info", id=id)))["stage"]


@pytest.mark.parametrize(
    ("host", "referrer"),  # another site, and the same site at another port
    [
        ("localhost", "no-referrer"),
        pytest.param("localhost", "unsafe-url", marks=pytest.mark.slow),
        pytest.param("127.0.0.1", "no-referrer", marks=pytest.mark.slow),
        pytest.param("127.0.0.1", "unsafe-url", marks=pytest.mark.slow),
    ],
)
def test_a_hostile_page_mints_and_fixates_nothing(
    signed_in: webdriver.Chrome,
    server: Server,
    alice: str,
    hostile: tuple[dict[str, str], int],
    host: str,
    referrer: str,
) -> None:
    driver, (contents, port) = signed_in, hostile
    id = acquired(server, alice)
    before, seen = minted(server, alice), len(server.lines)
    registry = f"{server.address}registry"
    contents["/"] = PAGE.format(
        referrer=referrer,
        registry=registry,
        id=id,
        acquire=f"{registry}?registry-op=acquire&registry-base={encoded(RDL)}",
        fixate=f"{registry}?registry-op=fixate&registry-id={encoded(id)}",
        later=f"{server.address}acquireId/param?uri={encoded(RDL)}",
    )
    for action in ("link", "bare", "get"):
        driver.get(f"http://{host}:{port}/")
        until(driver, lambda: driver.title == "tried")
        element = driver.find_element(By.ID, action)
        driver.execute_script("arguments[0].submit()" if action == "get" else "arguments[0].click()", element)
        until(driver, lambda: driver.current_url.startswith(registry))
        assert "another site caused the request" in driver.page_source
    # the browser does hold the credentials, and sends them from there
    contents["/"] = f'<a id="link" href="{registry}?registry-op=info&amp;registry-id={encoded(id)}">link</a>'
    driver.get(f"http://{host}:{port}/")
    driver.find_element(By.ID, "link").click()
    until(driver, lambda: "registeredOn" in driver.page_source)
    wait_until(lambda: any('"status": 200' in line and '"/registry"' in line for line in server.lines[seen:]))
    refused = [line for line in server.lines[seen:] if '"status": 403' in line]
    assert len(refused) > 20
    assert minted(server, alice) == before
    assert stage(server, alice, id) == "created"


def test_a_link_of_another_page_of_the_server_changes_nothing(
    signed_in: webdriver.Chrome, server: Server, alice: str
) -> None:
    before = minted(server, alice)
    signed_in.get(f"{server.address}RdsWipDomains")
    signed_in.execute_script(
        "const link = document.createElement('a'); link.href = arguments[0]; document.body.append(link); link.click()",  # noqa: E501
        f"/registry?registry-op=acquire&registry-base={encoded(RDL)}",
    )
    until(signed_in, lambda: "where any party can set links" in signed_in.page_source)
    assert minted(server, alice) == before


def test_the_page_takes_an_identifier_through_its_life(
    signed_in: webdriver.Chrome, server: Server, alice: str
) -> None:
    driver, name = signed_in, 'ball <valve> & "seat"'
    driver.find_element(By.ID, "comment").send_keys(name)
    press(driver, "Allocate")
    id = driver.find_element(By.ID, "shown").text
    assert comments(server, alice, id) == [name]
    target = "http://www.wikidata.org/entity/Q1413223?a=<b>&c"
    driver.find_element(By.ID, "target").send_keys(target)
    press(driver, "Bind")
    assert driver.find_element(By.CSS_SELECTOR, "[role=alert]").text  # < is no part of a URI
    driver.find_element(By.ID, "target").send_keys("http://www.wikidata.org/entity/Q1413223?a=b&c")
    press(driver, "Bind")
    press(driver, "Remove")
    assert ("boundTo", "http://www.wikidata.org/entity/Q1413223?a=b&c") not in elements(
        ask(server, alice, op="info", id=id)
    )
    button(driver, "Fixate").click()  # the box is not ticked: the browser sends nothing
    assert stage(server, alice, id) == "created"
    driver.find_element(By.XPATH, "//form[.//button[.='Fixate']]//input[@type='checkbox']").click()
    press(driver, "Fixate")
    assert stage(server, alice, id) == "fixated"
    assert not driver.find_elements(By.XPATH, "//button[.='Release']")
    driver.find_element(By.ID, "id").send_keys(f"{RDL}R3732211754")
    driver.find_element(By.XPATH, "//button[.='Show']").click()
    until(driver, lambda: "is not registered here" in driver.page_source)


@pytest.mark.parametrize("path", ["registry?registry-op=ui&registry-id={id}", "RdsWipDomains"])
def test_the_pages_fit_a_phone_and_load_nothing_from_elsewhere(
    signed_in: webdriver.Chrome, server: Server, alice: str, path: str
) -> None:
    driver, id = signed_in, acquired(server, alice, "a" * 200)
    ask(server, alice, op="bind", id=id, target="http://example.org/" + "b" * 200)
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        driver.get(server.address + path.format(id=encoded(id)))
        assert driver.execute_script("return document.documentElement.scrollWidth") == 360
        loaded = driver.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
        assert all(one.startswith(server.address) for one in loaded)
        unnamed = "input:not([type=hidden]), select"
        for field in driver.find_elements(By.CSS_SELECTOR, unnamed):
            assert field.accessible_name
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
