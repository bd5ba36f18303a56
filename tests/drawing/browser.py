"""A headless Chromium, driven through the pipe of its DevTools protocol, with no package needed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


class Tab:
    """One page of the browser."""

    def __init__(self, reading: Any, writing: Any) -> None:
        self._reading = reading
        self._writing = writing
        self._count = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol; events that come meanwhile are kept."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        self._writing.write(json.dumps(message).encode() + b"\0")
        self._writing.flush()
        while True:
            answer = self._receive()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)

    def _receive(self) -> Any:
        text = b""
        while not text.endswith(b"\0"):
            byte = self._reading.read(1)
            assert byte, "the browser has gone"
            text += byte
        answer: dict[str, Any] = json.loads(text[:-1])
        return answer

    def open(self, path: Path) -> None:
        """Load a file, and wait until it is there and has been laid out."""
        self.events.clear()
        self.send("Page.navigate", url=path.as_uri())
        self.value(
            "new Promise(done => { const wait = () => document.readyState === 'complete' ?"
            " requestAnimationFrame(() => setTimeout(done, 50)) : setTimeout(wait, 10); wait(); })"
        )

    def value(self, expression: str) -> Any:
        """What JavaScript gives for an expression."""
        found = self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """A movement, press, release or turn of the wheel, as from a user's hand."""
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        if kind == "mouseWheel":  # which waits for the next frame, and is not waited for
            self.value("new Promise(done => setTimeout(() => requestAnimationFrame(done), 100))")

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """With the left button held, in a few steps; a click, where both are the same."""
        self.mouse("mousePressed", *start, button="left", buttons=1, clickCount=1)
        if start != end:
            for share in (0.3, 0.7, 1.0):
                x, y = (a + share * (b - a) for a, b in zip(start, end, strict=True))
                self.mouse("mouseMoved", x, y, button="left", buttons=1)
        self.mouse("mouseReleased", *end, button="left", clickCount=1)

    def key(self, key: str) -> None:
        """A key pressed and released."""
        for kind in ("rawKeyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key)

    def middle(self, selector: str) -> tuple[float, float]:
        """Where the middle of an element is in the window, once it has been scrolled to."""
        x, y = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2];"
            " })()"
        )
        return x, y


@contextmanager
def browser(folder: Path) -> Iterator[Tab]:
    """A browser with a profile of its own in a folder."""
    assert CHROMIUM is not None
    to_browser, from_us = os.pipe()
    to_us, from_browser = os.pipe()
    # The protocol's pipe is file descriptors 3 and 4; the shell puts them there.
    command = [
        "bash",  # as `sh` need not know descriptors of two digits
        "-c",
        f'exec "$@" 3<&{to_browser} 4>&{from_browser} 2>/dev/null',
        "bash",
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=1200,900",
        f"--user-data-dir={folder}",
        "--remote-debugging-pipe",
    ]
    process = subprocess.Popen(command, pass_fds=(to_browser, from_browser))
    os.close(to_browser)
    os.close(from_browser)
    with os.fdopen(to_us, "rb") as reading, os.fdopen(from_us, "wb") as writing:
        try:
            yield Tab(reading, writing)
        finally:
            process.terminate()
            process.wait(20)
