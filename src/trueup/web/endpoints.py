"""What the page can ask: numbers, files, downloads. Each computation is a job for a worker."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from contextlib import aclosing
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from trueup import __version__
from trueup.errors import DataError, FileError, TrueupError
from trueup.web.guessing import guess
from trueup.web.limits import BusyError, Limits, limited, problem
from trueup.web.sessions import ROLES, Session, Sessions
from trueup.web.workers import Workers

EXAMPLES = json.loads(Path(__file__).with_name("examples.json").read_text(encoding="utf-8"))
"""Examples to load on the page, each with where it comes from."""
TOKEN = "x-trueup-session"
FILES = {"table": ("table.csv", "text/csv"), "report": ("report.html", "text/html")}
WORK_LIST = ("work_list.csv", "text/csv")
# A report is somebody's data in our origin: it may never run or load anything.
SANDBOX = {"Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'"}
STOPPED = (
    b'{"error":"This was stopped: a newer request of the same page took its place.",'
    b'"hint":null,"field":null}\n'
)


class Endpoints:
    """The functions behind the routes, with the workers and sessions that they share."""

    def __init__(self, sessions: Sessions, workers: Workers, max_upload: int) -> None:
        self._sessions, self._workers, self._max_upload = sessions, workers, max_upload

    async def about(self, request: Request) -> Response:
        """Return the version, the limits and the examples."""
        return JSONResponse(
            {"version": __version__, "max_upload": self._max_upload, "examples": EXAMPLES}
        )

    async def numbers(self, request: Request) -> Answering:
        """Numbers: the answer, then the charts."""
        return Answering(self._workers, {"kind": "numbers", "given": await _json(request)})

    async def numbers_file(self, what: str, request: Request) -> Response:
        """The table or the report of the numbers entered."""
        given = await _json(request)
        folder = Path(tempfile.mkdtemp(dir=self._sessions.root))
        try:
            job = {"kind": f"numbers_{what}", "given": given, "folder": str(folder)}
            wrong = _error(await self._all(job, request))
            return JSONResponse(wrong, 422) if wrong else await _attached(folder, FILES[what])
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
        token = request.headers.get(TOKEN)
        async with self._sessions.hold(token) as session:
            session.forget(role)
            handle, path = tempfile.mkstemp(dir=session.folder)
        part = Path(path)
        try:
            with open(handle, "wb") as file:
                length = request.headers.get("content-length")
                hint = "start with `trueup serve --max-upload 2GB`, or use `trueup correct`."
                async for chunk in limited(request.stream(), length, self._max_upload, hint):
                    await asyncio.to_thread(file.write, chunk)
            async with self._sessions.hold(token) as session:
                session.forget(role)  # another may have come meanwhile
                return await self._taken(role, part, session, request)
        finally:
            part.unlink(missing_ok=True)

    async def _taken(
        self, role: str, part: Path, session: Session, request: Request
    ) -> JSONResponse:
        name = f"{role}{_ending(part)}"
        part.rename(session.folder / name)
        job = {"kind": "look", "file": name, "folder": str(session.folder)}
        try:
            events = await self._all(job, request)
        except BaseException:
            session.forget(role)
            raise
        wrong = _error(events)
        if wrong:
            session.forget(role)
            return JSONResponse(wrong, 422)
        session.files[role], session.tables[role] = name, events[0]["table"]
        both = [session.tables.get(role) for role in ROLES]
        chosen = guess(both[0], both[1] or both[0]) if both[0] else None
        return JSONResponse({"table": session.tables[role], "guess": chosen})

    async def correct(self, request: Request) -> Answering:
        """Files: the check, the answer, the charts; then the report is written."""
        token = request.headers.get(TOKEN)
        self._sessions.get(token)
        given = await _json(request)
        async with self._sessions.hold(token) as session:
            if set(session.files) != set(ROLES):
                raise DataError("Both files are needed: the predictions and the test set.")
            for name, _ in FILES.values():
                (session.folder / name).unlink(missing_ok=True)
            job = {"kind": "files", "given": given, "folder": str(session.folder)} | session.files
            return Answering(self._workers, job, session)

    async def download(self, what: str, request: Request) -> Response:
        """Return the table or the report of the last answer."""
        return await _attached(self._sessions.get(request.headers.get(TOKEN)).folder, FILES[what])

    async def draw(self, request: Request) -> Response:
        """Draw the units to label from the predictions, and return the work list."""
        token = request.headers.get(TOKEN)
        self._sessions.get(token)
        given = await _json(request)
        async with self._sessions.hold(token) as session:
            if "predictions" not in session.files:
                raise DataError("The predictions are needed first.")
            job = {"kind": "draw", "given": given, "folder": str(session.folder)} | session.files
            wrong = _error(await self._all(job, request))
            return JSONResponse(wrong, 422) if wrong else await _attached(session.folder, WORK_LIST)

    async def _all(self, job: dict[str, Any], request: Request) -> list[dict[str, Any]]:
        """Return all events of a job, unless the other side leaves first."""

        async def collect() -> list[dict[str, Any]]:
            async with aclosing(self._workers.events(job)) as lines:
                return [json.loads(line) async for line in lines]

        task = asyncio.create_task(collect())
        if await _gone_before(task, request.receive):
            raise ClientDisconnect
        return task.result()


class Answering:
    """A response of one event per line, which stops the computation when nobody listens any more.

    Its status is 422 if the first event is an error.
    """

    def __init__(
        self, workers: Workers, job: dict[str, Any], session: Session | None = None
    ) -> None:
        self._workers, self._job, self._session = workers, job, session
        self._begun = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass events on until the last one, or until the other side is gone."""
        answer = asyncio.create_task(self._answer(scope, receive, send))
        tasks = self._session.tasks if self._session else set()
        tasks.add(answer)
        try:
            gone = await _gone_before(answer, receive)
        finally:
            tasks.discard(answer)
        if answer.cancelled() and not gone:  # by something newer in the session
            await self._pass_on(send, STOPPED, 409)
            await send({"type": "http.response.body", "body": b""})
        elif not gone:
            answer.result()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with aclosing(self._workers.events(self._job)) as lines:
                async for line in lines:
                    await self._pass_on(send, line, 422 if line.startswith(b'{"error"') else 200)
            await send({"type": "http.response.body", "body": b""})
        except BusyError as error:  # nothing has been sent yet
            await refused(error)(scope, receive, send)

    async def _pass_on(self, send: Send, line: bytes, status: int) -> None:
        if not self._begun:
            self._begun = True
            headers = [(b"content-type", b"application/x-ndjson")]
            await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": line, "more_body": True})


def refused(error: TrueupError) -> JSONResponse:
    """Answer with what is wrong with the request."""
    return JSONResponse(problem(error), getattr(error, "status", 422))


async def _gone_before(task: asyncio.Task[Any], receive: Receive) -> bool:
    """Wait for a task; if the other side leaves first, stop the task and return True."""
    gone = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        return not task.done()
    finally:
        task.cancel()
        gone.cancel()
        await asyncio.wait({task, gone})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _json(request: Request) -> dict[str, Any]:
    """Read a JSON object, of a size that a page of numbers has."""
    hint = "use `trueup numbers` or Python for a matrix of this size."
    length = request.headers.get("content-length")
    body = b"".join([c async for c in limited(request.stream(), length, Limits.body, hint)])
    try:
        given = json.loads(body, parse_constant=_no_constant, object_pairs_hook=_once)
        json.dumps(given, ensure_ascii=False).encode()  # fails for half of a character
    except (ValueError, RecursionError):
        raise DataError(
            "The request must be JSON with plain numbers and text, each name once; it is not."
        ) from None
    if not isinstance(given, dict):
        raise DataError("The request must be a JSON object.")
    return given


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that comes twice: one of its values would be ignored."""
    given = dict(pairs)
    if len(given) < len(pairs):
        raise ValueError("a name comes twice")
    return given


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _ending(path: Path) -> str:
    """Return the ending that the content calls for; the file's own name is not trusted."""
    with path.open("rb") as file:
        first = file.read(4096)
    if first.startswith(b"PAR1"):
        return ".parquet"
    if first.startswith(b"\x1f\x8b"):
        return ".csv.gz"
    if first.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise FileError(
            "The file must be CSV or Parquet; got an Excel workbook or a zip file.",
            hint="in Excel, choose “Save as” and then CSV UTF-8.",
        )
    if not first.strip() or b"\x00" in first:
        what = "nothing" if not first.strip() else "something else"
        raise FileError(
            f"The file must be a table in CSV or Parquet; got {what}.",
            hint="a CSV file begins with a line of column names.",
        )
    return ".csv"


def _error(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    return next((event for event in events if "error" in event), None)


async def _attached(folder: Path, what: tuple[str, str]) -> Response:
    name, kind = what
    try:
        content = await asyncio.to_thread((folder / name).read_bytes)
    except FileNotFoundError:
        raise DataError("There is no such file yet: ask for an answer first.") from None
    headers = SANDBOX | {"Content-Disposition": f'attachment; filename="trueup-{name}"'}
    return Response(content, media_type=kind, headers=headers)
