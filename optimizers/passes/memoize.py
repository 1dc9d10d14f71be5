"""Steps that are worth more than keeping what they made: later runs take it from this one."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import Cache, Profile
from couler.ir.rewrite import map_scopes
from couler.ir.walk import Scope
from couler.ir.workflow import Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.durations import known_seconds
from couler.optimizers.figure_texts import age_text, bytes_are, seconds_text
from couler.optimizers.memoizable import Memoizable

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


_GIB = 1 << 30
_HOUR_S = 3_600.0
_MONTH_S = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class _Choice:
    """The steps that have no cache, by their paths, and what is said of them."""

    chosen: Mapping[str, str]
    """Why each of them is that is memoized."""
    why_not: Mapping[str, str | None]
    """Why each is not, by itself; None for what is worth it."""


@dataclass(frozen=True)
class Memoize:
    """Give a cache to the steps that later runs had better take from an earlier one.

    Before: any verified workflow. After: the steps that are worth it have a `cache` with a
    `max_age_s`. What the program says of caches stays.

    A step can be memoized if it is a container or a script that does nothing but give outputs, as
    far as that shows: no daemon, hooks, metrics, locks, volumes shared with others, or files put
    or fetched outside; if something reads what it gives; and if what it reads can be the same in
    a later run: no fact of the run, and (but on this machine, whose keys have the content of
    files) no file of a step that cannot be memoized, as such a file has the run in its place. Steps
    of exit handlers and hooks are left alone. Where a step is memoized that reads a file, so is the
    one that makes it, whatever that is worth.

    What the engine refuses of the workflow with these caches and takes of the one without them is
    not done: its step is left, and with it those that read its files; where no such step is named,
    all are.

    It is worth it if its seconds are more than those of a hit and of reading its outputs by
    `least_saved_s` at least. Seconds and bytes are those of the step's profile, and where it does
    not say them those of earlier runs, if such are known. An entry is kept until keeping its bytes
    has cost what making them again costs, but no longer than `most_age_s`: that is at most twice
    what one pays who knows when the next run comes (ski rental). What comes before the step does
    not count: it runs, or is taken from the cache itself, to tell the step's inputs.

    Preserved: outcomes, if steps give the same for the same inputs. Only who wrote a step knows
    that, so the pass is no part of the default pipeline.

    O(n + m) for n steps and m references, and as long as the engine takes to check the workflow,
    once more than there are rounds in which it refuses caches.

    Attributes
    ----------
    least_saved_s
        Seconds that a hit has to save.
    hit_s
        Seconds that a hit takes: looking the entry up, and writing that it was used.
    read_bytes_per_s
        How fast files are read from the storage.
    compute_hour
        What an hour of a step costs.
    storage_gib_month
        What a GiB in the storage costs for 30 days, in the same currency.
    most_age_s
        Longest time that an entry is taken, in seconds; also where the bytes are not known.

    References
    ----------
    A. R. Karlin, M. S. Manasse, L. Rudolph, D. D. Sleator: Competitive snoopy caching.
    Algorithmica 3 (1988), 79-119. The Couler paper, IV-A: what it costs to make again, and to keep.

    Examples
    --------
    >>> from couler.ir.policies import Profile
    >>> from couler.ir.values import StepRef
    >>> from couler.ir.workflow import Container
    >>> load = Step(name="load", action=Container(image="alpine", args=("x",)),
    ...             profile=Profile(seconds=3600, output_bytes=8 * 2**30))
    >>> show = Step(name="show", action=Container(image="alpine", args=(StepRef(step="load"),)))
    >>> context = PassContext()
    >>> workflow = Memoize().run(Workflow(name="w", steps=(load, show)), context)
    >>> [step.cache for step in workflow.steps]
    [Cache(name=None, salt=None, max_age_s=648000.0), None]
    >>> context.step_reasons["load"]
    'A hit saves 3,513 s; 8 GiB are worth keeping for 7.5 days (by its profile).'
    """

    name: t.ClassVar[str] = "memoize"
    least_saved_s: float = 10.0
    hit_s: float = 1.0
    read_bytes_per_s: float = 100e6
    compute_hour: float = 0.04
    storage_gib_month: float = 0.02
    most_age_s: float = 2_592_000.0

    def __post_init__(self) -> None:
        """Check the options.

        Raises
        ------
        ValueError
            A number is negative, or is none that one can divide by.
        """
        for what in ("least_saved_s", "hit_s", "compute_hour"):
            if not getattr(self, what) >= 0:
                raise ValueError(f"{what} is at least 0, not {getattr(self, what)}")
        for what in ("read_bytes_per_s", "storage_gib_month", "most_age_s"):
            if not getattr(self, what) > 0:
                raise ValueError(f"{what} is more than 0, not {getattr(self, what)}")

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        """Return the workflow with caches for the steps that are worth it."""
        figures = _figures(workflow, context)
        refused: dict[str, str] = {}
        while True:
            choice = self._choose(workflow, context, figures, refused)
            memoized = self._memoized(workflow, choice, figures)
            new = _newly_refused(workflow, memoized, context)
            of_chosen = {one.step: one for one in new if one.step in choice.chosen}
            if not of_chosen:
                break
            refused |= {str(path): _refusal(one, context) for path, one in of_chosen.items()}
        if new:  # of the workflow as a whole, or of steps that read what would be memoized
            context.give_up(f"No step is memoized: {_refusal(new[0], context)}.")
            return workflow
        for path, obstacle in choice.why_not.items():
            context.explain(choice.chosen.get(path) or f"Not memoized: {obstacle}.", step=path)
        context.explain(_summary(len(choice.chosen), len(choice.why_not) - len(choice.chosen)))
        if refused:
            context.explain(f"{context.engine} refuses the caches of {len(refused):,}.")
        return memoized

    def _choose(
        self,
        workflow: Workflow,
        context: PassContext,
        figures: Mapping[str, Figures],
        refused: Mapping[str, str],
    ) -> _Choice:
        """Choose the steps that are worth it, of those that the engine does not refuse."""
        by_content = context.engine == "local"
        able = Memoizable(workflow, files_by_content=by_content, refused=refused)
        places = {scope.path_of(step): (scope, step) for scope, step in _uncached(able)}
        why_not = {
            path: able.obstacle(scope, step) or self._worthless(figures[path], context)
            for path, (scope, step) in places.items()
        }
        chosen = {path: self._worth(figures[path]) for path, why in why_not.items() if why is None}
        for path in [*chosen]:
            self._choose_before(path, able, places, chosen)
        return _Choice(chosen, why_not)

    def _memoized(
        self, workflow: Workflow, choice: _Choice, figures: Mapping[str, Figures]
    ) -> Workflow:
        if not choice.chosen:
            return workflow

        def with_cache(scope: Scope, step: Step) -> Step:
            path = scope.path_of(step)
            if path not in choice.chosen:
                return step
            return step.model_copy(update={"cache": Cache(max_age_s=self._age_s(figures[path]))})

        return map_scopes(
            workflow, lambda scope: tuple(with_cache(scope, step) for step in scope.steps)
        )

    def _choose_before(
        self,
        path: str,
        able: Memoizable,
        steps: Mapping[str, tuple[Scope, Step]],
        chosen: dict[str, str],
    ) -> None:
        """Choose all whose files a chosen step needs at the same place in each run."""
        waiting = [path]
        while waiting:
            reader = waiting.pop()
            for needed in able.relies_on(*steps[reader]):
                if needed not in chosen:
                    chosen[needed] = f"{reader}, which reads its file, is found again by its place."
                    waiting.append(needed)

    def _worthless(self, figures: Figures, context: PassContext) -> str | None:
        if figures.seconds is None:
            if context.history is None:
                return "its profile does not say how long it takes"
            return "neither its profile nor an earlier run says how long it takes"
        if self._saved_s(figures) >= self.least_saved_s:
            return None
        saved_s = self._saved_s(figures)
        if saved_s > 0:
            return (
                f"a hit saves {seconds_text(saved_s)} of its {seconds_text(figures.seconds)}, "
                f"less than {seconds_text(self.least_saved_s)} ({figures.source})"
            )
        return (
            f"a hit saves nothing: {self._taken(figures)}, and the step "
            f"{seconds_text(figures.seconds)} ({figures.source})"
        )

    def _taken(self, figures: Figures) -> str:
        """What a hit takes, in words."""
        reading = f"reading what the step gives{{}} {seconds_text(self._reading_s(figures))}"
        if not self.hit_s:
            return reading.format(" takes")
        own = f"it takes {seconds_text(self.hit_s)} (hit_s)"
        is_read = self._reading_s(figures) >= 0.001
        return f"{own} and {reading.format('')}" if is_read else own

    def _saved_s(self, figures: Figures) -> float:
        return (figures.seconds or 0.0) - self.hit_s - self._reading_s(figures)

    def _reading_s(self, figures: Figures) -> float:
        return (figures.output_bytes or 0) / self.read_bytes_per_s

    def _age_s(self, figures: Figures) -> float:
        """Seconds until keeping has cost what making again costs, in whole minutes."""
        if not figures.output_bytes:
            return self.most_age_s
        again = (figures.seconds or 0.0) / _HOUR_S * self.compute_hour
        keeping = figures.output_bytes / _GIB * self.storage_gib_month / _MONTH_S
        return min(self.most_age_s, max(60.0, round(again / keeping / 60.0) * 60.0))

    def _worth(self, figures: Figures) -> str:
        size, saved_s = figures.output_bytes, self._saved_s(figures)
        saved = seconds_text(saved_s) if saved_s > 0 else "nothing"
        kept = "what it gives is" if size is None else bytes_are(size)
        return (
            f"A hit saves {saved}; {kept} worth keeping for {age_text(self._age_s(figures))} "
            f"({figures.source})."
        )


def _uncached(able: Memoizable) -> Iterator[tuple[Scope, Step]]:
    return ((scope, step) for scope, step in able.steps() if step.cache is None)


def _figures(workflow: Workflow, context: PassContext) -> Mapping[str, Figures]:
    """Return what the steps take; earlier runs are asked for only if a profile leaves it open."""
    able = Memoizable(workflow, files_by_content=True)
    steps = {scope.path_of(step): step for scope, step in _uncached(able)}
    declared = {path: figures_of(step, None) for path, step in steps.items()}
    is_open = any(None in (one.seconds, one.output_bytes) for one in declared.values())
    if not is_open or context.history is None:
        return declared
    earlier = context.history()
    return {path: figures_of(step, earlier.get(path)) for path, step in steps.items()}


def _newly_refused(before: Workflow, after: Workflow, context: PassContext) -> list[Diagnostic]:
    """Return what the engine refuses of a workflow for what the pass did."""
    if context.refusals is None or after is before:
        return []
    found = context.refusals(after)
    known = {(one.code, one.step) for one in context.refusals(before)} if found else set()
    return [one for one in found if (one.code, one.step) not in known]


def _refusal(one: Diagnostic, context: PassContext) -> str:
    message = one.message.removeprefix(f"{context.engine}: ").removesuffix(".")
    return f"{context.engine} refuses it: {message} [{one.code}]"


def _summary(chosen: int, left: int) -> str:
    if not chosen:
        return "No step is memoized." if left else "No step is without a cache."
    steps = "1 step is" if chosen == 1 else f"{chosen:,} steps are"
    return f"{steps} memoized, {left:,} {'is' if left == 1 else 'are'} not."
