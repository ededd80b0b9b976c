"""The application: routes, errors in plain words, and what starts and stops with it."""

import asyncio
import hashlib
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from trueup.errors import TrueupError
from trueup.web.endpoints import FILES, Endpoints, refused
from trueup.web.guard import Guard
from trueup.web.limits import APOLOGY, Limits
from trueup.web.sessions import ROLES, Sessions
from trueup.web.workers import Workers

Endpoint = Callable[..., Awaitable[Any]]

STATIC = Path(__file__).parent / "static"
SWEEP = 60.0  # seconds between looks for sessions that nobody uses


def make_app(
    *, host: str = "127.0.0.1", max_upload: int = 200_000_000, idle: float = Limits.idle
) -> Starlette:
    """Make the application; its temporary folder and processes live while it runs.

    `host` is the address that it will listen on, to tell which Host headers are its own;
    `max_upload` the most bytes of one file; after `idle` seconds the files of a page that does
    nothing are removed.
    """
    sessions = Sessions(idle)
    workers = Workers(sessions.root)
    here = Endpoints(sessions, workers, max_upload)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        workers.warm_up()
        app.state.vega = bundling = asyncio.create_task(asyncio.to_thread(_bundle))
        sweeping = asyncio.create_task(_sweep(sessions))
        try:
            yield
        finally:
            sweeping.cancel()
            await asyncio.gather(sweeping, bundling, return_exceptions=True)
            await workers.close()
            await sessions.close()

    app = Starlette(
        routes=[
            Route("/", _careful(_index)),
            Route("/vega.js", _careful(_vega)),
            Route("/api/about", _careful(here.about)),
            Route("/api/numbers", _careful(here.numbers), methods=["POST"]),
            *_each(FILES, "/api/numbers/{}", here.numbers_file, "POST"),
            Route("/api/session", _careful(here.start), methods=["POST"]),
            Route("/api/session", _careful(here.end), methods=["DELETE"]),
            *_each(ROLES, "/api/files/{}", here.upload, "PUT"),
            Route("/api/files/draw", _careful(here.draw), methods=["POST"]),
            Route("/api/files/correct", _careful(here.correct), methods=["POST"]),
            *_each(FILES, "/api/files/{}", here.download, "GET"),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(Guard, host=host)],
        exception_handlers={HTTPException: _http_error},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # an address is one of ours or does not exist
    app.state.sessions, app.state.workers = sessions, workers
    return app


def _each(names: Iterable[str], path: str, endpoint: Endpoint, method: str) -> list[Route]:
    """One route for each name: an address that is not in the list does not exist."""
    return [
        Route(path.format(name), _careful(partial(endpoint, name)), methods=[method])
        for name in names
    ]


def _careful(endpoint: Endpoint) -> Endpoint:
    """Turn every error into words; only what is not the user's fault is logged, to stderr."""

    async def answer(request: Request) -> Any:
        try:
            return await endpoint(request)
        except TrueupError as error:
            return refused(error)
        except ClientDisconnect:
            return Response(status_code=400)  # that nobody reads
        except Exception:
            traceback.print_exc()
            return JSONResponse(APOLOGY, 500)

    return answer


async def _index(request: Request) -> Response:
    content = await asyncio.to_thread((STATIC / "index.html").read_bytes)
    return Response(content, media_type="text/html", headers={"Cache-Control": "no-cache"})


async def _vega(request: Request) -> Response:
    """The library that draws the charts, served from here: no network is needed.

    Bundling takes a second or two, so it begins when the server does.
    """
    script = await asyncio.shield(request.app.state.vega)
    tag = f'"{hashlib.sha256(script).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(script, media_type="text/javascript", headers=headers)


def _bundle() -> bytes:
    import vl_convert

    return bytes(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"), "utf-8")


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {404: "There is nothing at this address.", 405: "This cannot be done here."}
    answer = {"error": words.get(error.status_code, error.detail), "hint": None, "field": None}
    return JSONResponse(answer, error.status_code)


async def _sweep(sessions: Sessions) -> None:
    while True:
        await asyncio.sleep(SWEEP)
        await sessions.sweep()
