"""Who may talk to the page: this page itself, and no page from elsewhere.

A web site that somebody visits can send requests to localhost, or point its own name at 127.0.0.1
(DNS rebinding). So the Host must be a name of this machine, and whatever changes or computes must
come from our own origin with a header that other origins cannot send.
"""

import ipaddress
import socket
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MARK = "x-trueup"
# Everything comes from here; no inline script, no eval, no frame around us.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """Middleware: refuse strangers, and put the headers on every answer."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app, self._host = app, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, if it may."""
        if scope["type"] == "websocket":  # there are none here
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Half a file is of no use to anyone, and a wrong range would not be refused in our words.
        scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"range"]

        async def careful(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        reason = self._refusal(scope)
        if reason is None:
            await self._app(scope, receive, careful)
        else:
            answer: dict[str, Any] = {"error": reason, "hint": None, "field": None}
            await JSONResponse(answer, 403)(scope, receive, careful)

    def _refusal(self, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not host_allowed(host, self._host):
            return "This page answers only under the address that `trueup serve` printed."
        if scope["method"] in ("GET", "HEAD"):
            return None
        if not _is_origin(headers.get("origin"), host):
            return "Only the page itself may ask this; another web page did."
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "Only the page itself may ask this; another web page did."
        if MARK not in headers:
            return f"The header {MARK} is missing: only the page itself may ask this."
        return None


def _is_origin(origin: str | None, host: str) -> bool:
    """Return whether a request comes from our own page, or from no page at all."""
    try:
        return origin is None or urlsplit(origin).netloc == host
    except ValueError:
        return False


def host_allowed(header: str, listening: str) -> bool:
    """Return whether a Host header names this machine and not somebody's web site.

    Examples
    --------
    >>> host_allowed("localhost:8080", "127.0.0.1"), host_allowed("evil.example", "127.0.0.1")
    (True, False)
    """
    try:
        name = (urlsplit(f"//{header}").hostname or "").rstrip(".")
    except ValueError:
        return False
    if name == "localhost" or is_loopback(name):
        return True
    if is_loopback(listening) or listening == "localhost":
        return False
    # Told to listen elsewhere: an address cannot be rebound, and our own names are ours.
    return _is_address(name) or name in {listening.lower(), socket.gethostname().lower()}


def is_loopback(host: str) -> bool:
    """Return whether an address reaches this machine only."""
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
