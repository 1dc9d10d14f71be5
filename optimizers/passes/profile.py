"""Profiles filled by what earlier runs took, and else by what steps compute."""

from __future__ import annotations

import math
import typing as t
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from couler.ir.policies import Profile
from couler.ir.rewrite import map_scopes
from couler.ir.walk import Scope
from couler.ir.wording import power_text
from couler.ir.workflow import Group, Step, Suspend, Workflow
from couler.optimizers.base import Measured, PassContext
from couler.optimizers.figure_texts import seconds_text

_OWN, _RUNS, _OPERATIONS, _UNKNOWN = "their profiles", "earlier runs", "operations", ""


@dataclass(frozen=True)
class FillProfiles:
    """Fill what the profiles of steps leave open by earlier runs, and else by their operations.

    Before: any verified workflow. After: a step has the seconds and the bytes of outputs of earlier
    runs of it, if such are known, where its profile does not say them. A step whose seconds are
    still not known has its `operations` over the throughput for seconds. What profiles say stays.
    Groups and pauses are left as they are: their length is that of what is inside, or in them.

    Figures of earlier runs are medians, of the engine that the plan is for where it ran there. They
    are of one item of a foreach, as profiles are.

    Preserved: outcomes, and keys of the cache. Passes that come later, estimates and the order in
    which ready steps start here go by profiles.

    O(n) for n steps, and what asking for earlier runs takes.

    Attributes
    ----------
    throughput_ops_per_s
        Operations of a profile that are done in a second, above 0. One rate is for all steps, so
        seconds by it order the steps, and are no more right than it is.

    References
    ----------
    Optimising ML Pipeline Execution via Smart Task Placement (Electronics 14(13), 2025), section
    4.2.1 ("the execution time of a task is proportional to the number of operations it performs"),
    and section 7, which asks for earlier runs in their place.

    Examples
    --------
    >>> from couler.ir.workflow import Container
    >>> def step(name, **profile):
    ...     return Step(name=name, action=Container(image="busybox"), profile=Profile(**profile))
    >>> steps = (step("load"), step("fit", operations=1.2e9), step("report", seconds=5))
    >>> context = PassContext(history=lambda: {"load": Measured(seconds=60, runs=3)})
    >>> planned = FillProfiles().run(Workflow(name="w", steps=steps), context)
    >>> [one.profile.seconds for one in planned.steps]
    [60.0, 1.2, 5.0]
    >>> for path, reason in context.step_reasons.items():
    ...     print(f"{path}: {reason}")
    load: 60 s by the median of 3 runs.
    fit: 1.2 s by 1.2e9 operations at 1e9/s.
    report: 5 s by its profile.
    """

    name: t.ClassVar[str] = "profile"
    throughput_ops_per_s: float = 1e9

    def __post_init__(self) -> None:
        """Check the options.

        Raises
        ------
        ValueError
            The throughput is no number above 0.
        """
        if not 0 < self.throughput_ops_per_s < math.inf:
            raise ValueError(f"throughput_ops_per_s is above 0, not {self.throughput_ops_per_s}")

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        """Return the workflow with what is known of its steps in their profiles."""
        earlier = _Earlier(context)
        sources: Counter[str] = Counter()

        def change(scope: Scope) -> tuple[Step, ...]:
            steps: list[Step] = []
            for step in scope.steps:
                if isinstance(step.action, Group | Suspend):
                    steps.append(step)
                    continue
                path = scope.path_of(step)
                found = self._found(step, earlier.of(path, step))
                sources[found.source] += 1
                context.explain(found.reason, step=path)
                steps.append(_with_profile(step, found.profile))
            return tuple(steps)

        made = map_scopes(workflow, change)
        if sources:
            context.explain(_summary(sources))
        return made

    def _found(self, step: Step, measured: Profile) -> _Found:
        """Return what is known of a step by its profile, by earlier runs and by its operations."""
        own = step.profile or Profile()
        update: dict[str, object] = {}
        if own.seconds is not None:
            source, reason = _OWN, f"{seconds_text(own.seconds)} by its profile"
        elif measured.seconds is not None:
            update["seconds"] = measured.seconds
            source, reason = _RUNS, f"{seconds_text(measured.seconds)} by {_median(measured)}"
        elif own.operations is not None:
            seconds = own.operations / self.throughput_ops_per_s
            update["seconds"] = seconds
            per_s = power_text(self.throughput_ops_per_s)
            rate = f"{power_text(own.operations)} operations at {per_s}/s"
            source, reason = _OPERATIONS, f"{seconds_text(seconds)} by {rate}"
        else:
            source, reason = _UNKNOWN, "Neither a profile nor an earlier run tells its seconds"
        if own.output_bytes is None and measured.output_bytes is not None:
            update["output_bytes"] = measured.output_bytes
            reason += f"; outputs of {measured.output_bytes:,} bytes by earlier runs"
        return _Found(own.model_copy(update=update) if update else own, source, f"{reason}.")


class _Found(t.NamedTuple):
    """What is known of a step."""

    profile: Profile
    source: str
    """Whence its seconds are."""
    reason: str


class _Earlier:
    """What was measured of steps; earlier runs are asked for when a profile leaves that open."""

    def __init__(self, context: PassContext) -> None:
        self._ask = context.history
        self._known: Mapping[str, Profile] | None = None

    def of(self, path: str, step: Step) -> Profile:
        own = step.profile or Profile()
        if self._ask is None or None not in (own.seconds, own.output_bytes):
            return Profile()
        if self._known is None:
            self._known = self._ask()
        return self._known.get(path) or Profile()


def _with_profile(step: Step, profile: Profile) -> Step:
    if profile == (step.profile or Profile()):
        return step
    return step.model_copy(update={"profile": profile})


def _median(measured: Profile) -> str:
    if not isinstance(measured, Measured):
        return _RUNS
    return "1 run" if measured.runs == 1 else f"the median of {measured.runs:,} runs"


def _summary(sources: Counter[str]) -> str:
    """Return how many steps are known, and by what."""
    counts = [f"{sources[one]:,} by {one}" for one in (_OWN, _RUNS, _OPERATIONS) if sources[one]]
    if sources[_UNKNOWN]:
        counts.append(f"{sources[_UNKNOWN]:,} not known")
    return f"Seconds of steps: {', '.join(counts)}."
