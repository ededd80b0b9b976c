"""The process that computes: a job per line comes in, events per line go out.

It ends when the server does (its standard input closes), in the middle of a job if need be.
"""

import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trueup.errors import TrueupError
from trueup.web.limits import APOLOGY, problem

DONE = b"{}\n"
TICK = 0.2  # seconds between two words about progress
Say = Callable[[dict[str, Any]], None]


def main() -> None:
    """Take jobs until there is nobody left to give them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which stops us
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints goes to standard error
    warm_up()
    jobs = _listen()

    def say(event: dict[str, Any]) -> None:
        out.write(_line(event))
        out.flush()

    while True:
        work(jobs.get(), say)
        out.write(DONE)
        out.flush()


def warm_up() -> None:
    """Load what every job needs, before there is one."""
    import trueup.present.plots
    import trueup.web.files  # noqa: F401


def _listen() -> queue.SimpleQueue[dict[str, Any]]:
    jobs: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin.buffer:
            jobs.put(json.loads(line))
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return jobs


def work(job: dict[str, Any], say: Say) -> None:
    """Do one job; whatever happens is an event."""
    home = os.getcwd()
    try:
        os.chdir(job.get("folder") or home)  # DuckDB spills to the folder it is in
        run(job, say)
    except TrueupError as error:
        say(problem(error))
    except MemoryError:
        say({"error": "This needs more memory than there is.", "hint": "ask for fewer draws."})
    except Exception:
        traceback.print_exc()
        say(APOLOGY)
    finally:
        os.chdir(home)


def run(job: dict[str, Any], say: Say) -> None:
    """Do what the job asks for; see `trueup.web.endpoints` for who asks what."""
    given, kind = job.get("given", {}), job["kind"]
    if kind == "look":
        from trueup.web.files import look

        say({"table": look(job["file"])})
    elif kind == "draw":
        from trueup.present.output import write_whole
        from trueup.web.files import draw_list

        write_whole(Path("work_list.csv"), draw_list(job["predictions"], given))
    elif kind == "files":
        _files(job["predictions"], job["test_set"], given, say)
    else:
        _numbers(kind, given, say)


def _numbers(kind: str, given: dict[str, Any], say: Say) -> None:
    from trueup.web.numbers import answer, estimate

    est = estimate(given, _progress(say))
    if kind == "numbers":
        say({"answer": answer(est)})
        say({"charts": charts(est, given)})
    elif kind == "numbers_table":
        _write_table(est, say)
    else:
        _write_report(est, say)


def _files(predictions: str, test_set: str, given: dict[str, Any], say: Say) -> None:
    from trueup.web import files

    say({"check": files.questions(predictions, test_set, given)})
    est = files.estimate(predictions, test_set, given, _progress(say))
    say({"answer": files.answer(est)})
    _write_table(est, say)
    say({"charts": charts(est, given)})
    _write_report(est, say)


def charts(est: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the charts as Vega-Lite, for the page's light or dark theme."""
    from trueup.present.plots import specs_for

    return specs_for(est, theme="dark" if given.get("theme") == "dark" else "light")


def _write_table(est: Any, say: Say) -> None:
    from trueup.present.output import csv_text, write_whole

    write_whole(Path("table.csv"), csv_text(est.tidy()).encode())
    say({"ready": "table"})


def _write_report(est: Any, say: Say) -> None:
    est.report("report.html")
    say({"ready": "report"})


def _progress(say: Say) -> Callable[[float], None]:
    """Report progress, but not more often than anyone can see."""
    last = time.monotonic()

    def update(fraction: float) -> None:
        nonlocal last
        if time.monotonic() - last > TICK:
            last = time.monotonic()
            say({"progress": min(max(float(fraction), 0.0), 1.0)})

    return update


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event, allow_nan=False, default=str, separators=(",", ":")).encode() + b"\n"


if __name__ == "__main__":
    main()
