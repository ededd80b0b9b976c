"""What the tests of the page share: a running page, and a client that may talk to it."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import httpx
import uvicorn

from trueup.web.run import free_socket

PECULIAR = {
    "test": [[4, 1], [2, 3]],
    "predicted_counts": [10, 90],
    "classes": ["webshop", "other"],
    "design": "shifted",
    "seed": 1,
}


@contextmanager
def client_of(app):
    """A client of a page that runs on a port, with the header that the page sends."""
    with (
        running(app) as url,
        httpx.Client(
            base_url=url, headers={"X-Trueup": "1"}, trust_env=False, timeout=60
        ) as client,
    ):
        client.app = app
        yield client


@contextmanager
def running(app):
    """Serve the application on a free port from a thread; give its address."""
    listening = free_socket("127.0.0.1", 0)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()


def until(true, seconds=20.0):
    """Wait for something that happens in another process."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
