"""The proof that the numbers are right and the intervals cover, as a command: read `run` first."""

from trueup.verify.run import Verification, verify

__all__ = ["Verification", "verify"]
