"""One page in a headless Chromium, spoken to over a pipe in its own protocol: no driver, no port, no network."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.browser import Browser

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-breakpad", "--disable-crash-reporter", "--disable-background-networking",
    "--force-device-scale-factor=1", "--font-render-hinting=none", "--remote-debugging-pipe",
)  # fmt: skip


HAND_OVER = """
import os, sys
ours = [os.dup(int(one)) for one in sys.argv[1:3]]
os.dup2(os.dup(ours[0]), 3)
os.dup2(os.dup(ours[1]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""A browser reads from descriptor 3 and writes to 4, whatever they were here."""
PATIENCE = 30.0
"""Seconds until a browser that says nothing is taken for stuck."""


@dataclass(slots=True)
class Page:
    """What a reader sees and does, and what the browser complained of or asked the network for."""

    reading: int
    writing: int
    session: str = ""
    target: str = ""
    """The page that is open."""
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    loaded: set[str] = field(default_factory=set)
    """Documents, by the ids of what loaded them."""
    _sent: int = 0
    _rest: bytes = b""

    def __call__(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send and wait for the answer; what happens meanwhile is noted."""
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writing, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._sent:
            self._note(answer)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self.reading], [], [], PATIENCE)
            more = os.read(self.reading, 1 << 16) if ready else b""
            if not more:
                raise AssertionError("the browser ended" if ready else "the browser is stuck")
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    def _note(self, event: dict[str, Any]) -> None:
        said = event.get("params", {})
        if event["method"] == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif event["method"] == "Page.lifecycleEvent" and said["name"] == "load":
            self.loaded.add(said["loaderId"])
        elif event["method"] == "Log.entryAdded":
            self.complaints.append(said["entry"]["text"])
        elif event["method"] in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
            self.complaints.append(json.dumps(said))

    def open(self, file: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        self.session = ""
        if self.target:
            self("Target.closeTarget", targetId=self.target)
        self.target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")
        self("Page.setLifecycleEventsEnabled", enabled=True)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self("Emulation.setEmulatedMedia", features=[scheme])
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.load("Page.navigate", url=file.as_uri())

    def load(self, method: str, **parameters: Any) -> None:
        """Until the document is there; that may be told before the answer."""
        before = {*self.loaded}
        wanted = self(method, **parameters).get("loaderId")
        while not (wanted in self.loaded if wanted else self.loaded - before):
            self._note(self._next())

    def says(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, text: str = "") -> None:
        code = {"Enter": 13, "Tab": 9, "Escape": 27, " ": 32}.get(key, ord(key) if len(key) == 1 else 0)
        more = {"text": text or key} if len(key) == 1 or text else {}
        for kind in ("keyDown", "keyUp"):
            said = more if kind == "keyDown" else {}
            self("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **said)

    def type(self, text: str) -> None:
        self("Input.insertText", text=text)

    def picture(self) -> bytes:
        return base64.b64decode(self("Page.captureScreenshot", format="png")["data"])


@contextmanager
def browsing(browser: Browser) -> Iterator[Page]:
    """A browser with one page, which ends with the block."""
    to_browser, from_us = os.pipe()
    to_us, from_browser = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        running = subprocess.Popen(
            [sys.executable, "-SEc", HAND_OVER, str(to_browser), str(from_browser), str(browser.program), *FLAGS,
             f"--user-data-dir={home}"],
            env={**os.environ, **browser.environment}, pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        try:
            yield Page(reading=to_us, writing=from_us)
        finally:
            running.kill()
            running.wait()
            os.close(from_us)
            os.close(to_us)
