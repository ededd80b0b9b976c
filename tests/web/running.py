"""What the tests of the page share: a running page, and a client that may talk to it."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.client import HTTPConnection

import httpx
import uvicorn

from tests.patience import PATIENCE, until
from trueup.web.run import free_socket

__all__ = ["PECULIAR", "asked", "client_of", "running", "until"]
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
            base_url=url, headers={"X-Trueup": "1"}, trust_env=False, timeout=PATIENCE
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
        thread.join(PATIENCE)
        listening.close()


@contextmanager
def asked(url, path, given):
    """Ask for something and never read the answer; the end of the block is to leave."""
    connection = HTTPConnection(httpx.URL(url).netloc.decode(), timeout=PATIENCE)
    headers = {"X-Trueup": "1", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(given), headers)
    try:
        yield
    finally:
        connection.close()
