# SPDX-License-Identifier: GPL-2.0
"""The reports in a real browser, without a network: what is on them is to be seen, on a wide screen and a narrow one.

scripts/bootstrap --browser installs the browser, and make test calls it; where there is none these tests are skipped.
Pictures of what it drew are left in out/test/pages.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import test_demo
import test_overload
import test_qlbp
import test_reproduce
import test_thesis
from lab.analyse import overload as found_overload
from lab.analyse import qlbp as found_qlbp
from lab.analyse import thesis as found_thesis
from lab.checkout import TOP
from lab.front import reproduce
from lab.show import overload
from lab.show import thesis as show_thesis
from PIL import Image

webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium: scripts/bootstrap --browser")
DRIVER, BROWSER = shutil.which("chromedriver"), shutil.which("chromium")
pytestmark = pytest.mark.skipif(not (DRIVER and BROWSER), reason="no chromium: scripts/bootstrap --browser")
SEEN = TOP / "out" / "test" / "pages"
# CSS pixels: a desk's screen, and a telephone held upright.
WIDTHS = (1280, 390)
HEIGHT = 900
# No page reaches anything: not even a name is looked up.
OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--hide-scrollbars"),
)
# What there is to know of a page once it has been drawn, and all that is folded in it has been opened.
FACTS = """
for (const one of document.querySelectorAll("details")) one.open = true;
const pictures = [...document.images];
const width = document.documentElement.clientWidth;
return {
    missing: pictures.filter(one => !one.complete || one.naturalWidth < 100).length,
    pictures: pictures.length,
    wider: document.documentElement.scrollWidth - width,
    text: document.body.innerText,
    outside: pictures.filter(one => one.getBoundingClientRect().right > width + 1).length,
};
"""


def _demo(folder: Path) -> str:
    return (test_demo.shown(folder) / "report.html").read_text()


def _reproduce(folder: Path) -> str:
    """With what was recorded of each paper."""
    summary = test_reproduce.recorded()
    thesis = json.loads(test_thesis.RECORDED.read_text())
    recorded = {
        found_thesis.PAPER: (
            {**thesis, "goals": found_thesis.goals(test_thesis.recorded())},
            found_thesis.rows(test_thesis.recorded(), [1], show_thesis.WHY),
        ),
        found_overload.PAPER: test_overload.recorded(),
        found_qlbp.PAPER: (test_qlbp.recorded()["data"], test_qlbp.recorded()["rows"]),
    }
    for paper, (data, rows) in recorded.items():
        summary["papers"][paper] |= {"run": True, "data": data}
        others = [row for row in summary["rows"] if row["paper"] != paper]
        summary["rows"] = [*others, *({**row, "paper": paper} for row in rows)]
    return reproduce.page(summary)


PAGES: dict[str, tuple[Callable[[Path], str], str]] = {
    "demo": (_demo, "pktpair"),
    "overload": (lambda folder: overload.page(test_overload.published()), "ovl-"),
    "reproduce": (_reproduce, "pp-9.1-fig12"),
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    yield driver
    driver.quit()


def fetched(browser: Any, file: Path) -> list[str]:
    """What a page asked for since this was called last, beside what is in it."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [one["params"] for one in events if one["method"] == "Network.requestWillBeSent"]
    own = [one["request"]["url"] for one in asked if one["documentURL"] == file.as_uri()]
    return [address for address in own if address != file.as_uri() and not address.startswith("data:")]


def seen(browser: Any, file: Path, width: int) -> tuple[dict[str, Any], Image.Image]:
    """Facts of a page, and a picture of all that it shows at first, at a width in CSS pixels."""
    size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(file.as_uri())
    height = browser.execute_script("return document.documentElement.scrollHeight")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**size, "height": min(height, 16_000)})
    picture = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    return browser.execute_script(FACTS), picture


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_seen(name: str, width: int, browser: Any, tmp_path: Path) -> None:
    """Every picture is drawn and inside the page, nothing is fetched, nothing scrolls sideways, no error is logged."""
    make, word = PAGES[name]
    file = tmp_path / f"{name}.html"
    file.write_text(make(tmp_path))
    facts, picture = seen(browser, file, width)
    SEEN.mkdir(parents=True, exist_ok=True)
    picture.save(SEEN / f"{name}-{width}.png")
    assert (facts["pictures"] > 0, facts["missing"], facts["outside"]) == (True, 0, 0)
    assert (fetched(browser, file), browser.get_log("browser")) == ([], [])
    assert facts["wider"] <= 0 and word in facts["text"]
    assert picture.width == width and len(picture.getcolors(1 << 24)) > 100


def test_what_a_page_lacks_is_noticed(browser: Any, tmp_path: Path) -> None:
    """A picture from elsewhere, one that is broken, and a box that is too wide."""
    file = tmp_path / "bad.html"
    file.write_text('<img src="none.png"><img src="data:image/png;base64,AAAA"><div style="width: 3000px">wide</div>')
    facts, _ = seen(browser, file, WIDTHS[0])
    assert fetched(browser, file) == [(tmp_path / "none.png").as_uri()]
    assert facts["missing"] == 2 and facts["wider"] > 0
