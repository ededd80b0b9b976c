"""Estimates of periods: one audit, or several, and many months."""
