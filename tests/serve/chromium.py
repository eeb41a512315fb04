"""A person in front of a real browser: chromedriver, by the WebDriver protocol. `apt-get install chromium chromium-driver` brings both."""

import base64
import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the name that the protocol gives to a reference
KEYS = {"enter": "\ue007", "escape": "\ue00c", "tab": "\ue004", "down": "\ue015", "right": "\ue014", "left": "\ue012"}
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
]
FLAGS += [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-prefers-reduced-motion",
]


class DriverError(Exception):
    """A refusal of chromedriver."""


class Chromium:
    """One window of a headless browser. It fails a test by `DriverError` or `AssertionError`."""

    def __init__(self, directory: Path, width: int = 1280, height: int = 900, *, phone: bool = False) -> None:
        """phone: a touch screen of this width, as a telephone has it."""
        options: dict[str, Any] = {
            "binary": CHROMIUM,
            "args": [*FLAGS, f"--window-size={width},{height}", f"--user-data-dir={directory / 'profile'}"],
            "prefs": {"download.default_directory": str(directory)},
        }
        if phone:
            metrics = {"width": width, "height": height, "pixelRatio": 2, "touch": True, "mobile": True}
            options["mobileEmulation"] = {"deviceMetrics": metrics}
        self._driver = subprocess.Popen([str(DRIVER), "--port=0"], stdout=subprocess.PIPE, text=True)
        assert self._driver.stdout is not None
        port = None
        while port is None:
            found = re.search(r"successfully on port (\d+)", self._driver.stdout.readline())
            port = None if found is None else int(found[1])
        self._at = f"http://127.0.0.1:{port}/session"
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = self._ask("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        self._at += f"/{session['sessionId']}"

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(DriverError, OSError):
            self._ask("DELETE", "", None)
        self._driver.terminate()
        self._driver.wait(20)
        if self._driver.stdout is not None:
            self._driver.stdout.close()

    def open(self, address: str) -> None:
        """Go to an address, and wait for the page to say that it is ready."""
        self._ask("POST", "/url", {"url": "about:blank"})
        self._ask("POST", "/se/log", {"type": "browser"})  # what the page before complained of is read
        self._ask("POST", "/url", {"url": address})
        self.until("return document.documentElement.dataset.ready === 'true'")

    def run(self, script: str, *given: Any) -> Any:
        """The value of a script in the page."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(given)})

    def until(self, script: str, seconds: float = 90.0) -> Any:
        """The value of a script, as soon as it is true."""
        end = time.monotonic() + seconds
        while not (value := self.run(script)):
            assert time.monotonic() < end, f"not within {seconds:g} s: {script}; the page: {self.trouble()}"
            time.sleep(0.03)
        return value

    def find(self, selector: str, number: int = 0) -> dict[str, str]:
        """The element of a CSS selector."""
        found = self._ask("POST", "/elements", {"using": "css selector", "value": selector})
        assert len(found) > number, f"{selector}: {len(found)} elements; the page: {self.trouble()}"
        element: dict[str, str] = found[number]
        return element

    def click(self, selector: str, number: int = 0) -> None:
        """Click an element, as a person does: it must be seen and not covered."""
        self._ask("POST", f"/element/{self.find(selector, number)[ELEMENT]}/click", {})

    def type(self, text: str, selector: str = "") -> None:
        """Type into an element, or where the focus is."""
        element = self.find(selector) if selector else self._ask("GET", "/element/active", None)
        self._ask("POST", f"/element/{element[ELEMENT]}/value", {"text": text})

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, where the focus is."""
        actions = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self._ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def hover(self, selector: str, number: int = 0) -> None:
        """Point at the middle of an element."""
        move = {"type": "pointerMove", "duration": 0, "origin": self.find(selector, number), "x": 0, "y": 0}
        pointer = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [move]}
        self._ask("POST", "/actions", {"actions": [pointer]})

    def retype(self, text: str, selector: str) -> None:
        """Type in the place of what a field holds."""
        self.run("document.querySelector(arguments[0]).select()", selector)
        self.type(text, selector)

    def texts(self, selector: str) -> list[str]:
        """The text of every element of a selector."""
        found: list[str] = self.run(
            "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)", selector
        )
        return found

    def text(self, selector: str) -> str:
        """The text of the first element of a selector."""
        [first, *_] = self.texts(selector) or [""]
        return first

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """A screenshot, of the window or of the whole page."""
        if whole:
            size = self.run("const e = document.documentElement; return [e.clientWidth, e.scrollHeight]")
            metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
            self._cdp("Emulation.setDeviceMetricsOverride", metrics)
        path.write_bytes(base64.b64decode(self._ask("GET", "/screenshot", None)))
        if whole:
            self._cdp("Emulation.clearDeviceMetricsOverride", {})

    def dark(self, dark: bool) -> None:
        """The colours that the reader's system prefers."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._cdp("Emulation.setEmulatedMedia", {"features": [feature]})

    def trouble(self) -> list[str]:
        """The complaints of the page and the console; empty: nothing."""
        told = self.run("return document.documentElement.dataset.error ?? ''")
        lines = self._ask("POST", "/se/log", {"type": "browser"})
        severe = [line["message"] for line in lines if line["level"] == "SEVERE"]
        return [*([told] if told else []), *severe]

    def logged(self) -> list[str]:
        """All that the console says, mere advice too. What was read before is gone."""
        return [line["message"] for line in self._ask("POST", "/se/log", {"type": "browser"})]

    def requested(self) -> list[str]:
        """The addresses of everything that the page has loaded."""
        found: list[str] = self.run("return performance.getEntriesByType('resource').map((one) => one.name)")
        return found

    def _cdp(self, command: str, parameters: dict[str, Any]) -> Any:
        return self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._at + path, data=data, method=method, headers={"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise DriverError(json.load(error)["value"]["message"].split("\n")[0]) from None


def waited(condition: Callable[[], bool], seconds: float = 90.0) -> None:
    """Wait for a condition outside of the page."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds:g} s"
        time.sleep(0.03)
