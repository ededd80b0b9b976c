"""Tests; oracles.py holds exact answers that several of them use."""
