"""Opening an endpoint for one run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from couler.llm.dialogue import LanguageModel
from couler.llm.settings import LlmSettings


def open_model(
    settings: LlmSettings,
    *,
    log: Path | None = None,
    record: Path | None = None,
    replay: Path | None = None,
    tell: Callable[[str], None] | None = None,
) -> AbstractContextManager[LanguageModel]:
    """Open an endpoint for one run."""
    raise NotImplementedError
