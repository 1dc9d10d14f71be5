"""What a pass is: a value whose fields are its options, and a pure function of the workflow."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from pydantic import Field as ModelField

from couler.ir.base import FrozenDict
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import Placement, Profile
from couler.ir.sizes import Footprint
from couler.ir.workflow import Workflow
from couler.plugins import default_of

if t.TYPE_CHECKING:
    from couler.cluster.model import Cluster
    from couler.optimizers.estimate import Figure, StepTime, StepTimes

Weigh: t.TypeAlias = Callable[[Workflow], Footprint | None]
"""Gives what a workflow takes of the engine; None for one that it cannot run anyway."""

Refusals: t.TypeAlias = Callable[[Workflow], Sequence[Diagnostic]]
"""Gives the errors with which the engine refuses a workflow; none if it takes it."""


class Measured(Profile):
    """What was measured of a step in earlier runs."""

    runs: t.Annotated[int, ModelField(ge=1)] = 1
    """How often it was; each item of a foreach counts. The seconds are the median."""


History: t.TypeAlias = Callable[[], Mapping[str, Profile]]
"""Gives what was measured of steps in earlier runs of the workflow, by their paths."""


class Timed(t.NamedTuple):
    """A step that says what it computes, as it ran once, whatever the workflow."""

    model: str
    """The kind of its model."""
    operations: float
    """Operations of one item."""
    seconds: float
    """How long it took, as its engine tells."""
    node: str | None
    """The machine that it ran on; None where nobody knows."""
    placement: Placement | None
    """By what its engine chose the machine; None where it ran here, on the only one there is."""
    has_gpus: bool = False
    """Whether it asked for GPUs."""


Timings: t.TypeAlias = Callable[[], Sequence[Timed]]
"""Gives what was measured in earlier runs of any workflow, the latest first."""


Kept: t.TypeAlias = Callable[[Workflow], Collection[str]]
"""Gives the paths of steps that keep their ends if a run is taken up with a workflow."""


Machines: t.TypeAlias = "Callable[[], Cluster | None]"
"""Gives the machines of a cluster; None where nobody has described any."""


@dataclasses.dataclass(frozen=True)
class TunedParameters:
    """Hyperparameters that tuning chose.

    Attributes
    ----------
    parameters
        Their values by name, as JSON has them.
    why
        Why they were chosen, in a few words.
    conditions
        By the name of one that is not always there, the values that others must have for it to be.
    """

    parameters: Mapping[str, t.Any]
    why: str
    conditions: Mapping[str, Mapping[str, Sequence[t.Any]]] = FrozenDict()


Tuned: t.TypeAlias = Callable[[str], TunedParameters]
"""Gives what tuning chose, by the name of the file that tells it."""


class PassContext:
    """What a pass is told, and where it says what it did.

    Parameters
    ----------
    engine
        Name of the engine that the plan is for; None for any.
    profile
        Name of the engine's profile; None for its first.
    weigh
        Gives what a workflow takes of one run of the engine, and the limits of it; None if the
        engine cannot run the workflow anyway. Without it there is no engine, or it has no limits.
    refusals
        Gives what the engine refuses; None without an engine.
    history
        Gives what earlier runs took; None where nobody is to be asked for it.
    timings
        Gives how long what steps compute took in earlier runs of any workflow; None likewise.
    cluster
        Gives the machines that steps can run on; None where nobody is to be asked for them.
    kept
        Gives which steps do not run again in a run elsewhere that is taken up; None for one that
        begins.
    tuned
        Gives outcomes of tuning; None where nobody is to be asked for them.
    known_times
        How long steps take by what the passes before knew of it, by their paths.

    Attributes
    ----------
    reason
        The sentence that the pass gave, or an empty text.
    step_reasons
        What the pass said of single steps, by the path of the step.
    derived
        For each step that a pass made of others, the paths of those.
    item_steps
        Those of them that are foreachs with an item for each of the others, in that order.
    gave_up
        What the pass said that it could not do.
    facts
        What it went by, as JSON values by name.
    cost
        What machines cost by what the pass planned, in US dollars; None if it plans none.
    times
        How long steps take by what the pass planned, by their paths; None if it plans none.
    made_times
        How long steps take that the pass made of several others, by what was known of these.

    Examples
    --------
    >>> context = PassContext(engine="argo")
    >>> context.explain("2 steps of 3 s in sum share a pod.")
    >>> context.derive("load-and-clean", ["load", "clean"])
    >>> context.explain("Nothing reads what it waits for.", step="report")
    >>> context.reason, context.step_reasons["report"], context.derived["load-and-clean"]
    ('2 steps of 3 s in sum share a pod.', 'Nothing reads what it waits for.', ('load', 'clean'))
    """

    def __init__(
        self,
        *,
        engine: str | None = None,
        profile: str | None = None,
        weigh: Weigh | None = None,
        refusals: Refusals | None = None,
        history: History | None = None,
        timings: Timings | None = None,
        cluster: Machines | None = None,
        kept: Kept | None = None,
        tuned: Tuned | None = None,
        known_times: StepTimes = MappingProxyType({}),
    ) -> None:
        self.engine = engine
        self.profile = profile
        self.weigh = weigh
        self.refusals = refusals
        self.history = history
        self.timings = timings
        self.kept = kept
        self.tuned = tuned
        self.known_times = known_times
        self._cluster = cluster
        self.reason = ""
        self.step_reasons: dict[str, str] = {}
        self.derived: dict[str, tuple[str, ...]] = {}
        self.item_steps: set[str] = set()
        self.gave_up: list[str] = []
        self.facts: dict[str, t.Any] = {}
        self.cost: Figure | None = None
        self.times: StepTimes | None = None
        self.made_times: dict[str, StepTime] = {}

    @cached_property
    def cluster(self) -> Cluster | None:
        """The machines that steps can run on; None where nobody has described any."""
        return None if self._cluster is None else self._cluster()

    def explain(self, reason: str, *, step: str | None = None) -> None:
        """Say in one sentence why the pass did what it did; a later sentence is added.

        Parameters
        ----------
        reason
            The sentence.
        step
            Path of the step that it is about, in the workflow that the pass returns, or for a step
            that it removed in the one that it was given; None for all that the pass did.
        """
        if step is None:
            self.reason = f"{self.reason} {reason}".strip()
        else:
            self.step_reasons[step] = f"{self.step_reasons.get(step, '')} {reason}".strip()

    def give_up(self, reason: str) -> None:
        """Say in a sentence what the pass could not do, and why.

        It is added to the reason, and told again with what the engine then refuses for its size.
        """
        self.explain(reason)
        self.gave_up.append(reason)

    def derive(self, step: str, sources: Sequence[str], *, as_items: bool = False) -> None:
        """Say of which steps a step of the result was made.

        By this the status of a run, its logs and a retry know the steps by their old names.

        Parameters
        ----------
        step
            Path in the workflow that the pass returns.
        sources
            Paths in the workflow that the pass was given.
        as_items
            The step is a foreach, and its n-th item was made of the n-th of them.
        """
        self.derived[step] = tuple(sources)
        if as_items:
            self.item_steps.add(step)
        else:
            self.item_steps.discard(step)


@t.runtime_checkable
class Pass(t.Protocol):
    """A rewriting of workflows; a frozen dataclass whose fields are its options.

    Its docstring states what must hold before, what holds after, what is preserved, and the
    complexity. It keeps the outcome of every run, unless its class says `keeps_failures = False`:
    then only of runs in which nothing fails. One that fits the workflow to the limits of its engine
    says `fits_engine = True`: others that a user adds come before it.
    """

    name: t.ClassVar[str]
    """Kebab-case, as in the entry point and in `couler plan --pass NAME`."""

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        """Return the rewritten workflow: the same for the same input, byte for byte.

        The workflow verifies before and after; its outcomes are the same.
        """
        ...


def fits_engine(pass_: Pass) -> bool:
    """Return whether a pass fits workflows to the limits of an engine, and so comes last."""
    return bool(getattr(pass_, "fits_engine", False))


def options_of(pass_: Pass) -> dict[str, t.Any]:
    """Return the options of a pass by name, as they are set."""
    value: t.Any = pass_
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    return {field.name: getattr(value, field.name) for field in fields}


def defaults_of(pass_: Pass) -> frozenset[str]:
    """Return the names of the options of a pass that have their default values."""
    value: t.Any = pass_
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    return frozenset(
        field.name for field in fields if getattr(value, field.name) == default_of(field)
    )
