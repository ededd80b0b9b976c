"""The command: where it listens, what it says, and a clean end."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from tests.patience import PATIENCE
from trueup.cli import main
from trueup.errors import OptionError
from trueup.web.limits import parse_size
from trueup.web.run import free_socket


def test_it_serves_on_this_machine_only_and_stops_on_ctrl_c(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "trueup", "serve", "--port", "0", "--no-open"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(tmp_path),
    )
    try:
        line = process.stdout.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+/", line)[0]
        with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
            assert "trueup" in client.get(url).text
            assert list(tmp_path.glob("trueup-page-*"))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert not list(tmp_path.glob("trueup-page-*"))


def _environment(folder: Path):
    import os

    return os.environ | {tempfile_name: str(folder) for tempfile_name in ("TMPDIR", "TEMP", "TMP")}


def test_the_next_free_port_is_taken():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        number = other.getsockname()[1]
        if number < 65_000:
            with free_socket("127.0.0.1", number) as taken:
                assert number < taken.getsockname()[1] < number + 20
                assert taken.getsockname()[0] == "127.0.0.1"


def test_bad_options_are_refused_in_words():
    with pytest.raises(OptionError, match="address"):
        free_socket("no.such.host.invalid", 0)
    for size in ("", "0", "-5", "lots", "5TBx"):
        with pytest.raises(OptionError, match="bytes"):
            parse_size(size)
    done = CliRunner().invoke(main, ["serve", "--max-upload", "lots"])
    assert done.exit_code == 2
    assert "200MB" in done.output


def test_listening_elsewhere_is_warned_about(monkeypatch):
    import uvicorn

    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    found = {}
    monkeypatch.setattr("trueup.web.server.make_app", lambda **given: found.update(given))
    done = CliRunner().invoke(main, ["serve", "--host", "0.0.0.0", "--port", "0", "--no-open"])
    assert "Everybody who can reach this machine" in done.output
    assert found == {"host": "0.0.0.0", "max_upload": 200_000_000}
    done = CliRunner().invoke(main, ["serve", "--port", "0", "--no-open"])
    assert "Warning" not in done.output


def test_without_the_extra_a_message_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = CliRunner().invoke(main, ["serve"])
    assert done.exit_code == 2
    assert "trueup[web]" in done.output


def test_temporary_folder_is_the_systems():
    from trueup.web.sessions import Sessions

    sessions = Sessions()
    try:
        assert sessions.root.parent == Path(tempfile.gettempdir())
    finally:
        sessions.root.rmdir()
