"""HTTP that is broken in the middle of a request: refused once, and nobody answers it again."""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["CarefulProtocol"]


class CarefulProtocol(H11Protocol):
    """Uvicorn's own, but its refusal ends the request for the application too.

    Otherwise both write an answer, and the second one fails with a traceback in the log.
    """

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, unless an answer is on its way already; then hang up."""
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:  # it cannot be sent: to HEAD, or after another answer
            self.transport.close()
