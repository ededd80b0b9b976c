"""What the page can ask: numbers, files, downloads. Each computation is a job for a worker."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from contextlib import aclosing
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from trueup import __version__
from trueup.errors import DataError, FileError
from trueup.web.examples import EXAMPLES
from trueup.web.guessing import guess
from trueup.web.limits import Limits, limited
from trueup.web.refusals import refused
from trueup.web.sessions import ROLES, Session, Sessions
from trueup.web.workers import BusyError, Workers

__all__ = ["FILES", "Endpoints"]

TOKEN = "x-trueup-session"
FILES = {"table": ("table.csv", "text/csv"), "report": ("report.html", "text/html")}
# A report is somebody's data in our origin: it may never run or load anything.
SANDBOX = {"Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'"}


class Endpoints:
    """The functions behind the routes, with the workers and sessions that they share."""

    def __init__(self, sessions: Sessions, workers: Workers, max_upload: int) -> None:
        self._sessions, self._workers, self._max_upload = sessions, workers, max_upload

    async def about(self, request: Request) -> Response:
        """Give the version, the limits and the examples."""
        return JSONResponse(
            {"version": __version__, "max_upload": self._max_upload, "examples": EXAMPLES}
        )

    async def numbers(self, request: Request) -> Answering:
        """Way 1: the answer, then the charts."""
        return Answering(self._workers, {"kind": "numbers", "given": await _json(request)})

    async def numbers_file(self, what: str, request: Request) -> Response:
        """The table or the report of the numbers entered."""
        given = await _json(request)
        folder = Path(tempfile.mkdtemp(dir=self._sessions.root))
        try:
            job = {"kind": f"numbers_{what}", "given": given, "folder": str(folder)}
            wrong = _error(await self._all(job))
            if wrong:
                return JSONResponse(wrong, 422)
            name, kind = FILES[what]
            content = await asyncio.to_thread((folder / name).read_bytes)
            return Response(content, media_type=kind, headers=_attached(name))
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def start(self, request: Request) -> Response:
        """Open a session for files."""
        return JSONResponse({"session": self._sessions.start()})

    async def end(self, request: Request) -> Response:
        """End it: stop its work, remove its files."""
        await self._sessions.end(request.headers.get(TOKEN, ""))
        return Response(status_code=204)

    async def upload(self, role: str, request: Request) -> Response:
        """Take a file in, under a name of our own, and say what columns it has."""
        session = self._sessions.get(request.headers.get(TOKEN))
        await session.stop()
        for old in session.folder.glob(f"{role}.*"):
            old.unlink()
        session.files.pop(role, None)
        session.tables.pop(role, None)
        part = session.folder / f"{role}.part"
        chunks = limited(
            request.stream(),
            request.headers.get("content-length"),
            self._max_upload,
            hint="start with `trueup serve --max-upload 2GB`, or use `trueup correct`.",
        )
        with part.open("wb") as file:
            async for chunk in chunks:
                await asyncio.to_thread(file.write, chunk)
        name = f"{role}{_ending(part)}"
        part.rename(session.folder / name)
        job = {"kind": "look", "file": name, "folder": str(session.folder)}
        events = await self._all(job)
        wrong = _error(events)
        if wrong:
            (session.folder / name).unlink()
            return JSONResponse(wrong, 422)
        session.files[role], session.tables[role] = name, events[0]["table"]
        both = [session.tables.get(role) for role in ROLES]
        chosen = guess(both[0], both[1]) if both[0] and both[1] else None
        return JSONResponse({"table": session.tables[role], "guess": chosen})

    async def correct(self, request: Request) -> Answering:
        """Way 2: the check, the answer, the charts; then the report is written."""
        session = self._sessions.get(request.headers.get(TOKEN))
        given = await _json(request)
        if set(session.files) != set(ROLES):
            raise DataError("Both files are needed: the predictions and the test set.")
        await session.stop()  # one answer at a time: the folder has one table and one report
        for name, _ in FILES.values():
            (session.folder / name).unlink(missing_ok=True)
        job = {"kind": "files", "given": given, "folder": str(session.folder)} | session.files
        return Answering(self._workers, job, session)

    async def download(self, what: str, request: Request) -> Response:
        """Give the table or the report of the last answer."""
        session = self._sessions.get(request.headers.get(TOKEN))
        name, kind = FILES[what]
        path = session.folder / name
        if not path.is_file():
            raise DataError("There is no such file yet: ask for an answer first.")
        return FileResponse(path, media_type=kind, headers=_attached(name))

    async def _all(self, job: dict[str, Any]) -> list[dict[str, Any]]:
        async with aclosing(self._workers.events(job)) as lines:
            return [json.loads(line) async for line in lines]


class Answering:
    """A response of one event per line, that stops the computation when nobody listens any more.

    Its status is 422 if the first event is an error.
    """

    def __init__(
        self, workers: Workers, job: dict[str, Any], session: Session | None = None
    ) -> None:
        self._workers, self._job, self._session = workers, job, session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass events on until the last one, or until the other side is gone."""
        answer = asyncio.create_task(self._answer(scope, receive, send))
        gone = asyncio.create_task(_disconnected(receive))
        tasks = self._session.tasks if self._session else set()
        tasks.add(answer)
        try:
            await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            answer.cancel()
            gone.cancel()
            await asyncio.gather(answer, gone, return_exceptions=True)
            tasks.discard(answer)
        if not answer.cancelled():
            answer.result()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._pass_on(send)
        except BusyError as error:  # nothing has been sent yet
            await refused(error)(scope, receive, send)

    async def _pass_on(self, send: Send) -> None:
        begun = False
        async with aclosing(self._workers.events(self._job)) as lines:
            async for line in lines:
                if not begun:
                    begun = True
                    await send(_start(422 if line.startswith(b'{"error"') else 200))
                await send({"type": "http.response.body", "body": line, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def _start(status: int) -> Message:
    headers = [(b"content-type", b"application/x-ndjson")]
    return {"type": "http.response.start", "status": status, "headers": headers}


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _json(request: Request) -> dict[str, Any]:
    """Read a JSON object, of a size that a page of numbers has."""
    hint = "use `trueup numbers` or Python for a matrix of this size."
    length = request.headers.get("content-length")
    body = b"".join([c async for c in limited(request.stream(), length, Limits.body, hint)])
    try:
        given = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise DataError("The request must be JSON with plain numbers; it is not.") from None
    if not isinstance(given, dict):
        raise DataError("The request must be a JSON object.")
    return given


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _ending(path: Path) -> str:
    """Tell the format by what is in the file; its name says nothing."""
    with path.open("rb") as file:
        first = file.read(4096)
    if first.startswith(b"PAR1"):
        return ".parquet"
    if first.startswith(b"\x1f\x8b"):
        return ".csv.gz"
    if first.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise FileError(
            "The file must be CSV or Parquet; an Excel workbook or a zip file came.",
            hint="in Excel, choose “Save as” and then CSV UTF-8.",
        )
    if not first.strip() or b"\x00" in first:
        what = "nothing" if not first.strip() else "something else"
        raise FileError(
            f"The file must be a table in CSV or Parquet; {what} came.",
            hint="a CSV file begins with a line of column names.",
        )
    return ".csv"


def _error(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    return next((event for event in events if "error" in event), None)


def _attached(name: str) -> dict[str, str]:
    return SANDBOX | {"Content-Disposition": f'attachment; filename="trueup-{name}"'}
