"""The page under test: ``trueup serve`` in a process of its own, its log, memory and folder."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.patience import PATIENCE, Watch

OPTIONS = ("--port=0", "--no-open", "--max-upload=2MB")
MOST_TIME = 120.0
"""Seconds of the server's processor time after which a case hangs."""
TIMEOUT = PATIENCE
"""Seconds by the clock, only to end a request that nothing else does."""
MOST_GROWTH = 200
"""Megabytes that the server may grow by after its first cases."""


class Page:
    """A running page and somebody who talks to it."""

    def __init__(self) -> None:
        self._home = tempfile.TemporaryDirectory()
        self.folder = Path(self._home.name) / "tmp"
        self.folder.mkdir()
        self._log = Path(self._home.name) / "log"
        self._read = 0
        names = {name: str(self.folder) for name in ("TMPDIR", "TEMP", "TMP")}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "trueup", "serve", *OPTIONS],
                stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ | names,
            )  # fmt: skip
        assert self._process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", self._process.stdout.readline())
        assert found, f"it did not start: {self.log()}"
        self.port = int(found[1])
        self.client = self.new_client()
        self.hang: str | None = None
        self._watch: Watch | None = None
        self._ended = threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch the server during a case; one that hangs is killed, which ends the request."""
        self._watch = Watch(self._process.pid, MOST_TIME)
        try:
            yield
        finally:
            self._watch = None

    def _look(self) -> None:
        while not self._ended.wait(1.0):
            watch = self._watch
            if watch is not None and (verdict := watch.verdict()):
                self.hang = verdict
                self._process.kill()
                return

    def new_client(self) -> httpx.Client:
        return httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}", headers={"X-Trueup": "1"}, trust_env=False,
            timeout=TIMEOUT,
        )  # fmt: skip

    def log(self) -> str:
        """What the server said since the last look, without what it says of broken HTTP."""
        with self._log.open(encoding="utf-8", errors="replace") as file:
            file.seek(self._read)
            said = file.read()
            self._read = file.tell()
        known = (
            "Invalid HTTP request received",
            "Unsupported upgrade request",
            "supported WebSocket",
        )
        return "\n".join(x for x in said.splitlines() if not any(words in x for words in known))

    def alive(self) -> bool:
        return self._process.poll() is None

    def memory(self) -> float:
        """Megabytes that the server holds; NaN where the system does not tell."""
        try:
            text = Path(f"/proc/{self._process.pid}/status").read_text()
        except OSError:
            return float("nan")
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1000  # type: ignore[index]

    def files_left(self) -> list[str]:
        """What lies in the temporary folder, besides the page's own empty one."""
        return [str(x.relative_to(self.folder)) for x in self.folder.glob("*/*")]

    def stop(self) -> list[str]:
        """End it with Ctrl-C; say what was not as it should be."""
        wrong = [] if self.alive() else ["CRASH the server died"]
        self._ended.set()
        limit = time.monotonic() + PATIENCE / 10  # who left a moment ago is cleaned up after
        while not wrong and self.files_left() and time.monotonic() < limit:
            time.sleep(0.1)
        if not wrong and (left := self.files_left()):
            wrong.append(f"WRONG files left while it runs: {left[:5]}")
        self.client.close()
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            wrong.append("HANG at the end")
            self._process.kill()
            self._process.wait()
        if self._process.returncode != 0:
            wrong.append(f"CRASH exit code {self._process.returncode}")
        if left := [x.name for x in self.folder.iterdir()]:
            wrong.append(f"WRONG files left at the end: {left[:5]}")
        if "Traceback" in (said := self.log()):
            wrong.append(f"CRASH {said[-1500:]}")
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._home.cleanup()
        return wrong
