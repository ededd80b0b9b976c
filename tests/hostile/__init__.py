"""Hostile input: a fuzzer, faults while writing and reading, and a test for every bug found."""
