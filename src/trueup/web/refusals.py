"""Errors as answers: the status of each kind, and an apology for what is our own fault."""

from __future__ import annotations

import sys
import traceback

from starlette.responses import JSONResponse

from trueup.errors import TrueupError
from trueup.web.limits import SizeError
from trueup.web.problems import APOLOGY, problem
from trueup.web.sessions import SessionError
from trueup.web.workers import BusyError

__all__ = ["apology", "refused"]

STATUS: dict[type[TrueupError], int] = {BusyError: 503, SizeError: 413, SessionError: 410}


def refused(error: TrueupError) -> JSONResponse:
    """Say what is wrong with what was asked."""
    return JSONResponse(problem(error), STATUS.get(type(error), 422))


def apology() -> JSONResponse:
    """Say sorry for the error that is being handled; its story goes to standard error."""
    print(traceback.format_exc(), file=sys.stderr)
    return JSONResponse(APOLOGY, 500)
