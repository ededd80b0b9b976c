"""Listening: the next free port, the browser, and a clean end on Ctrl-C."""

import os
import socket
import sys
import threading
import webbrowser

import click
import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from trueup.errors import OptionError
from trueup.web.guard import is_loopback

TRIES = 20


class CarefulProtocol(H11Protocol):
    """Uvicorn's own, but rejecting malformed HTTP ends the request for the application too.

    Otherwise both send a response, and the second fails with a traceback in the log.
    """

    def send_400_response(self, msg: str) -> None:
        """Reject malformed HTTP once; if a response is on its way already, hang up."""
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:  # it cannot be sent: to HEAD, or after another answer
            self.transport.close()


def serve(*, host: str, port: int, max_upload: int, open_page: bool) -> None:
    """Run the page until Ctrl-C."""
    from trueup.web.server import make_app

    listening = free_socket(host, port)
    number = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{number}/"
    if not (host == "localhost" or is_loopback(host)):
        click.echo(
            f"Warning: listening on {host}. Everybody who can reach this machine can use the "
            "page,\nand what they send is not encrypted. Without --host only this machine can.",
            err=True,
        )
    click.echo(f"trueup's page is at {url}  (Ctrl-C stops it)")
    if open_page:
        threading.Timer(0.5, webbrowser.open, [url]).start()
    config = uvicorn.Config(
        make_app(host=host, max_upload=max_upload),
        http=CarefulProtocol,
        ws="none",  # the page has none; an upgrade with a body would wait for ever
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:  # uvicorn has stopped all there was, and passes the signal on
        click.echo("Stopped; the files that were sent here are removed.", err=True)
    finally:
        listening.close()


def free_socket(host: str, port: int) -> socket.socket:
    """Listen on the port, or on the next one that is free."""
    for number in range(port, min(port + TRIES, 65_536)) if port else (0,):
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                host, number, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
        except OSError:
            raise OptionError(f"--host must be an address of this machine; got {host!r}.") from None
        taken = socket.socket(family, kind, protocol)
        if os.name != "nt":  # there it would share a port that is in use
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(address)
            taken.listen(128)  # a browser that comes early waits
        except PermissionError:
            taken.close()
            raise OptionError(f"--port {number} needs rights that you do not have.") from None
        except OSError:
            taken.close()
            continue
        return taken
    raise OptionError(
        f"No port from {port} to {port + TRIES - 1} is free on {host}.", hint="give another --port."
    )


def can_open() -> bool:
    """Whether a person sits here with a window to open the page in."""
    windows = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(windows or not sys.platform.startswith("linux")) and sys.stdout.isatty()
