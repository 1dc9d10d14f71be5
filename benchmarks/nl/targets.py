"""The engines as an evaluation sets them."""

from __future__ import annotations

from collections.abc import Mapping

from couler.backends.base import Target

TARGETS: Mapping[str, Target] = {"airflow": Target(options={"files_claim": "files"})}
"""Settings without which an engine has no place for files."""
