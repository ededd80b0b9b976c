"""Audits: drawing the units to label, and reading back how they were drawn."""
