"""What a step counts as that does not say what it takes."""

from __future__ import annotations

SILENT_CPU = 1
"""Processors that a step takes of a machine or pod if it does not say; all of one that has less."""
