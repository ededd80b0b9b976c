"""Posterior draws of the error rates: every design, prior and sampler."""
