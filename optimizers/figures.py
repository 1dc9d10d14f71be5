"""What a step takes, and how that is known: by its profile, or by earlier runs."""

from __future__ import annotations

from dataclasses import dataclass

from couler.ir.policies import Profile
from couler.ir.workflow import Step
from couler.optimizers.durations import known_seconds

_PROFILE = "its profile"
_RUNS = "earlier runs"


@dataclass(frozen=True, slots=True)
class Figures:
    """What one item of a step takes."""

    seconds: float | None
    output_bytes: int | None
    source: str


def figures_of(step: Step, earlier: Profile | None) -> Figures:
    """Return what a step takes: what it declares, and else what was measured."""
    seconds = known_seconds(step)
    size = None if step.profile is None else step.profile.output_bytes
    by_runs = earlier or Profile()
    sources = (
        _PROFILE if seconds is not None or by_runs.seconds is None else _RUNS,
        _PROFILE if size is not None or by_runs.output_bytes is None else _RUNS,
    )
    seconds = by_runs.seconds if seconds is None else seconds
    known = by_runs.output_bytes if size is None else size
    if known is None or sources[0] == sources[1]:
        return Figures(seconds, known, f"by {sources[0]}")
    return Figures(seconds, known, f"seconds by {sources[0]}, bytes by {sources[1]}")
