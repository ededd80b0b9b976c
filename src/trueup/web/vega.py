"""The library that draws the charts in the browser, served from here: no network is needed."""

from __future__ import annotations

import asyncio
import hashlib

from starlette.requests import Request
from starlette.responses import Response

__all__ = ["Vega"]

SNIPPET = "window.vegaEmbed = vegaEmbed;"


class Vega:
    """Bundle it once, in a thread, and keep it."""

    def __init__(self) -> None:
        self._task: asyncio.Task[bytes] | None = None

    def warm_up(self) -> asyncio.Task[bytes]:
        """Begin, unless that has been done."""
        if self._task is None:
            self._task = asyncio.create_task(asyncio.to_thread(_bundle))
        return self._task

    async def script(self, request: Request) -> Response:
        """Give the script; a browser that has it already is told so."""
        script = await asyncio.shield(self.warm_up())
        tag = f'"{hashlib.sha256(script).hexdigest()[:32]}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(script, media_type="text/javascript", headers=headers)


def _bundle() -> bytes:
    import vl_convert

    return bytes(vl_convert.javascript_bundle(SNIPPET), "utf-8")
