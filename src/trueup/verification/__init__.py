"""The proof that the numbers are right and the intervals cover, as a command: read `run` first."""

from trueup.verification.run import Verification, verify

__all__ = ["Verification", "verify"]
