"""Chromium for the tests of pages."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.support.ui import WebDriverWait

_DRIVER: Final = shutil.which("chromedriver")
_BROWSER: Final = shutil.which("chromium")
MARKS: Final = [
    pytest.mark.foreign,
    pytest.mark.skipif(
        not (_DRIVER and _BROWSER),
        reason="chromium and chromedriver are not installed: apt-get install chromium chromium-driver",
    ),
]
"""The marks of a test that needs the browser."""
PATIENCE: Final = 20
"""Seconds that the browser may take."""


@contextmanager
def browser(
    *arguments: str, preferences: Mapping[str, Any] | None = None, logs: Mapping[str, str] | None = None
) -> Iterator[webdriver.Chrome]:
    """Start the browser without a window.

    preferences  as Chromium names them.
    logs         the logs to keep, each with its level.
    """
    options = webdriver.ChromeOptions()
    options.binary_location = str(_BROWSER)
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        *arguments,
    ):
        options.add_argument(argument)
    if preferences:
        options.add_experimental_option("prefs", dict(preferences))
    if logs:
        options.set_capability("goog:loggingPrefs", dict(logs))
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(str(_DRIVER))) as made:
        made.set_page_load_timeout(PATIENCE)
        yield made


def until(driver: webdriver.Chrome, condition: Callable[[], object]) -> None:
    """Wait until the page has something. A page that is being left may give any error."""
    waiting = WebDriverWait(driver, PATIENCE, ignored_exceptions=[WebDriverException])
    waiting.until(lambda _: condition())
