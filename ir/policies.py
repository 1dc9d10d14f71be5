"""What a step asks of its engine: when to start, how often, resources, where, metrics, locks."""

from __future__ import annotations

import typing as t

from pydantic import AfterValidator, Field as ModelField, PositiveInt

from couler.ir.base import FrozenDict, JsonMap, Node, TextMap, Variant
from couler.ir.storage import ConfigKey
from couler.ir.traversal import At
from couler.ir.values import Condition, OwnRef, Text, Value, walk

if t.TYPE_CHECKING:
    from couler.ir.workflow import Step

NonNegative = t.Annotated[float, ModelField(ge=0, allow_inf_nan=False)]
Positive = t.Annotated[float, ModelField(gt=0, allow_inf_nan=False)]


class SourceRef(Node):
    """Where in the user's program something was written."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Dependency(Node):
    """Start only after a step ended in a certain way. A plain name stands for its success."""

    step: str
    on: t.Literal["failure", "completion"]


class AnyOf(Variant):
    """Start if at least one of several dependencies holds."""

    kind: t.Literal["any_of"] = "any_of"
    options: tuple[str | Dependency, ...]


class Foreach(Node):
    """One instance of the step for each item of one or more lists of equal length.

    `over` maps the name by which `ItemRef` finds an item to the list that the item comes from.
    """

    over: t.Annotated[
        dict[str, Value], ModelField(min_length=1), AfterValidator(FrozenDict), At("", "typed")
    ]
    max_parallel: PositiveInt | None = None


class Part(Node):
    """Which part of a split scope a step belongs to: a label that changes no outcome.

    Engines with limits lay the steps of one part together: those of a group in one definition, a
    DAG template for instance, those of a run in a run of its own, which the first one starts and
    waits for. A group lies within one run. What a step waits for, and how it ends, is not changed
    by either.
    """

    run: str | None = None
    """Name of the run of its own; None for the run of the workflow."""
    group: str | None = None
    """Name of the group of steps within that run; None for none."""


class Loop(Node):
    """Run the step, then again while the condition holds on its outputs (`RoundRef`)."""

    condition: t.Annotated[Condition, At("", "typed")]
    max_iterations: PositiveInt = 20


class Backoff(Node):
    """Seconds to wait before a retry: `seconds * factor**n`, at most `cap_s`."""

    seconds: Positive
    factor: t.Annotated[float, ModelField(ge=1, allow_inf_nan=False)] = 2.0
    cap_s: Positive | None = None
    max_duration_s: Positive | None = None
    """From the start of the first attempt: no wait goes beyond it, later attempts end there."""


class Retry(Node):
    """Try again after a failed attempt, at most `limit` times.

    `on` tells a `failure` (the process ended with an exit code) from an `error` (it could not
    run or was lost); `transient` stands for the errors that are known to pass.
    `exit_codes` limits the retries to these codes.
    """

    limit: t.Annotated[int, ModelField(ge=0)]
    """0 for never: it stands against a default of the workflow."""
    on: tuple[t.Literal["failure", "error", "transient"], ...] = ("failure", "error")
    backoff: Backoff | None = None
    exit_codes: tuple[int, ...] = ()
    other_node: bool = False
    """Each attempt on another node than those before."""


def retry_policy(retry: Retry | None) -> dict[str, t.Any]:
    """Return a policy as plain values, empty for never: `couler.ir.semantics.retries` reads it."""
    if retry is None or not retry.limit:
        return {}
    found: dict[str, t.Any] = {"limit": retry.limit, "on": list(retry.on)}
    if retry.exit_codes:
        found["exit_codes"] = list(retry.exit_codes)
    if retry.backoff is not None:
        found |= retry.backoff.model_dump(exclude_none=True)
    return found


class Cache(Node):
    """Reuse the outputs of an earlier run of the same step.

    The key is derived from the step's definition, code and inputs; `salt` is added to it, and
    `name` is the cache that holds the entries.
    """

    name: str | None = None
    salt: Text | None = None
    max_age_s: Positive | None = None


class Gpu(Node):
    """Graphics processors: how many, and of which type and resource name."""

    count: PositiveInt
    type: str | None = None
    resource: str = "nvidia.com/gpu"


class Resources(Node):
    """Compute that a step is given, as Kubernetes quantities (`500m`, `1Gi`)."""

    cpu: str | None = None
    memory: str | None = None
    disk: str | None = None
    gpu: Gpu | None = None
    cpu_limit: str | None = None
    memory_limit: str | None = None
    other: TextMap = FrozenDict()


class Toleration(Node):
    """A node taint that a pod accepts."""

    key: str | None = None
    operator: t.Literal["Equal", "Exists"] = "Equal"
    value: str | None = None
    effect: t.Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    seconds: int | None = None


class Placement(Node):
    """Which nodes a pod may run on."""

    node_selector: TextMap = FrozenDict()
    tolerations: tuple[Toleration, ...] = ()
    affinity: JsonMap = FrozenDict()
    priority_class: str | None = None
    priority: int | None = None
    """Of pods of a run that wait for room, that of the greatest number starts first; 0 without."""


class Profile(Node):
    """Estimates that the optimizers work from, each of one item of a foreach."""

    seconds: NonNegative | None = None
    memory_bytes: t.Annotated[int, ModelField(ge=0)] | None = None
    output_bytes: t.Annotated[int, ModelField(ge=0)] | None = None
    operations: NonNegative | None = None
    """How much it computes: floating-point or elementary operations, however fast they are done."""
    model: t.Annotated[str, ModelField(min_length=1)] | None = None
    """The kind of model that it trains or evaluates, such as `random-forest`."""
    task: t.Literal["preprocessing", "training", "evaluation"] | None = None
    """What it does, as far as choosing a machine for it needs to know."""


class MetricLabel(Node):
    """A label of a metric: plain text, a value of the workflow, or a fact of the step itself."""

    name: str
    value: t.Annotated[Text, At("")]


class _Metric(Variant):
    name: str
    help: str
    """For people; all metrics of one name have the same."""
    value: t.Annotated[Value, At("", "typed")]
    labels: t.Annotated[tuple[MetricLabel, ...], At("", "typed")] = ()
    when: t.Annotated[Condition | None, At(scope="facts")] = None
    """Compares facts of the step itself (`OwnRef`) and literals."""


class Counter(_Metric):
    """A number that only grows: by a value, each time that a step ends."""

    kind: t.Literal["counter"] = "counter"


class Gauge(_Metric):
    """A number that is set, or changed by a value, each time that a step ends."""

    kind: t.Literal["gauge"] = "gauge"
    operation: t.Literal["set", "add", "subtract"] = "set"
    realtime: bool = False
    """Given while the step runs, for its duration only."""


class Histogram(_Metric):
    """How often values fell below each of some bounds."""

    kind: t.Literal["histogram"] = "histogram"
    buckets: tuple[float, ...]
    """The bounds, growing."""


Metric = t.Annotated[Counter | Gauge | Histogram, ModelField(discriminator="kind")]


def is_own(text: Text) -> bool:
    """Return whether a text reads facts of the step itself, so nothing of other steps."""
    return any(isinstance(value, OwnRef) for value in walk(text))


class Mutex(Variant):
    """A lock that one holder has at a time."""

    kind: t.Literal["mutex"] = "mutex"
    name: str
    namespace: str | None = None
    """Those of one namespace know each other's locks; None for that of the run."""
    database: bool = False
    """Kept in a database, which the engines of several clusters can share."""


class Semaphore(Variant):
    """A lock that several holders have at a time, as many as an entry of a config map says."""

    kind: t.Literal["semaphore"] = "semaphore"
    limit: ConfigKey
    namespace: str | None = None
    """Where the config map and the holders are; None for that of the run."""


class DatabaseSemaphore(Variant):
    """A lock that several holders have at a time, as many as a database of the engine says."""

    kind: t.Literal["database_semaphore"] = "database_semaphore"
    key: str
    namespace: str | None = None


Lock = t.Annotated[Mutex | Semaphore | DatabaseSemaphore, ModelField(discriminator="kind")]


def locks_of(step: Step) -> tuple[Lock, ...]:
    """Return all locks that a step holds while it runs, that of its `mutex` first."""
    return step.locks if step.mutex is None else (Mutex(name=step.mutex), *step.locks)


def lock_identity(lock: Lock) -> tuple[str, ...]:
    """Return what two locks have in common if they are the same for an engine."""
    namespace = lock.namespace or ""
    match lock:
        case Mutex():
            return (lock.kind, str(lock.database), namespace, lock.name)
        case Semaphore():
            return (lock.kind, namespace, lock.limit.config_map, lock.limit.key)
        case DatabaseSemaphore():
            return (lock.kind, namespace, lock.key)
    t.assert_never(lock)
