"""The worker processes: a few that stay warm, each stopped for good when its job is cancelled.

A process is the one thing that can be stopped in the middle of NumPy or DuckDB. A warm one answers
a small question in 0.08 s; one that must start first took 4 s (2 cores, load 12).
"""

import asyncio
import json
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

from trueup.web.limits import BusyError, Limits
from trueup.web.worker import DONE

LONGEST_LINE = 2**28
DIED: dict[str, Any] = {
    "error": "The computation stopped: its process ended before the answer.",
    "hint": "it may have run out of memory; ask for fewer draws, or for fewer groups.",
}
TOO_LONG: dict[str, Any] = {
    "error": f"The computation took more than {Limits.seconds / 60:.0f} minutes and was stopped.",
    "hint": "use Python or the command `trueup correct` for work of this size.",
}


class Workers:
    """Processes that compute; at most `most` at once, others wait for a place."""

    def __init__(self, home: Path, most: int = Limits.workers) -> None:
        self._home, self._most = home, most
        self._room = asyncio.Semaphore(most)
        self._waiting = 0
        self._idle: list[Process] = []
        self._starting: set[asyncio.Task[None]] = set()
        self.running: set[Process] = set()  # those that have a job now

    def warm_up(self) -> None:
        """Start a process for the next job, in the background."""
        task = asyncio.create_task(self._add())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def events(self, job: dict[str, Any]) -> AsyncGenerator[bytes, None]:
        """Do a job and yield each event as a line; leaving early stops the process."""
        if self._waiting >= Limits.waiting:
            raise BusyError("Too many computations are waiting.", hint="try again in a minute.")
        self._waiting += 1
        try:
            await self._room.acquire()
        finally:
            self._waiting -= 1
        try:
            process = await self._take()
            self.running.add(process)
            finished = False
            try:
                assert process.stdin is not None
                process.stdin.write(json.dumps(job).encode() + b"\n")
                async for line in _lines(process):
                    if line == DONE:
                        finished = True
                        break
                    yield line
            finally:
                if not finished:
                    await _stop(process)
                self.running.discard(process)
                if finished:
                    self._idle.append(process)
                else:
                    self.warm_up()
        finally:
            self._room.release()

    async def close(self) -> None:
        """Stop all of them."""
        for task in list(self._starting):
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*map(_stop, [*self._idle, *self.running]))
        self._idle.clear()

    async def _take(self) -> Process:
        while self._idle:
            process = self._idle.pop()
            if process.returncode is None:  # nobody ended it meanwhile
                return process
        return await self._start()

    async def _add(self) -> None:
        if len(self._idle) + len(self.running) < self._most:
            self._idle.append(await self._start())

    async def _start(self) -> Process:
        # -P: the folder it runs in is no place to import from
        command = (sys.executable, "-P", "-m", "trueup.web.worker")
        return await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, cwd=self._home, limit=LONGEST_LINE
        )


async def _lines(process: Process) -> AsyncIterator[bytes]:
    """Yield the lines of one job; the last is an error if the process dies or takes too long."""
    assert process.stdout is not None
    end = time.monotonic() + Limits.seconds
    while True:
        try:
            line = await asyncio.wait_for(process.stdout.readline(), end - time.monotonic())
        except TimeoutError:
            yield json.dumps(TOO_LONG).encode() + b"\n"
            return
        if not line:
            yield json.dumps(DIED).encode() + b"\n"
            return
        yield line


async def _stop(process: Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()
