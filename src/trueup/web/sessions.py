"""Who uploaded what: a folder for each open page, found by a token that only that page knows.

A file of 200 MB is sent once and asked about many times, with other columns or another prior; it
goes when the page does.
"""

import asyncio
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueup.web.limits import BusyError, Limits, SessionError

ROLES = ("predictions", "test_set")


@dataclass
class Session:
    """One open page: its folder, its files by role, and the work that is going on for it.

    Whoever changes its files holds the lock.
    """

    folder: Path
    files: dict[str, str] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    used: float = field(default_factory=time.monotonic)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def stop(self) -> None:
        """Stop the work that is going on."""
        while self.tasks:
            for task in self.tasks:
                task.cancel()
            await asyncio.wait(self.tasks)
            await asyncio.sleep(0)  # so that who waits for it takes it out

    def forget(self, role: str) -> None:
        """Remove the file of a role."""
        for old in self.folder.glob(f"{role}.*"):
            old.unlink()
        self.files.pop(role, None)
        self.tables.pop(role, None)


class Sessions:
    """All open sessions, in one temporary folder that goes when the server stops."""

    def __init__(self, idle: float = Limits.idle) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="trueup-page-"))
        self._idle = idle
        self._open: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._open)

    def start(self) -> str:
        """Open a session and return its token."""
        if len(self._open) >= Limits.sessions:
            raise BusyError(
                f"{Limits.sessions} people have files here already.",
                hint="a session that is not used ends by itself; or use `trueup correct`.",
            )
        token = secrets.token_urlsafe(32)
        self._open[token] = Session(Path(tempfile.mkdtemp(dir=self.root)))
        return token

    def get(self, token: str | None) -> Session:
        """Return the session of a token; somebody else's guess finds nothing."""
        session = self._open.get(token or "")
        if session is None:
            raise SessionError(
                "These files are no longer here: the session has ended.",
                hint="choose the files again.",
            )
        session.used = time.monotonic()
        return session

    @asynccontextmanager
    async def hold(self, token: str | None) -> AsyncIterator[Session]:
        """Lend the session, with its work stopped, to one caller at a time."""
        async with self.get(token).lock:
            session = self.get(token)  # it may have ended while we waited
            await session.stop()
            yield session

    async def end(self, token: str) -> None:
        """Stop the session's work and remove its folder."""
        session = self._open.pop(token, None)
        if session is None:
            return
        async with session.lock:
            await session.stop()
            await asyncio.to_thread(shutil.rmtree, session.folder, ignore_errors=True)

    async def sweep(self) -> None:
        """End the sessions that nobody used for a while; one that computes is used."""
        now = time.monotonic()
        for token, session in list(self._open.items()):
            if not session.tasks and now - session.used > self._idle:
                await self.end(token)

    async def close(self) -> None:
        """End all sessions and remove the folder."""
        for token in list(self._open):
            await self.end(token)
        await asyncio.to_thread(shutil.rmtree, self.root, ignore_errors=True)
