"""What the rules know about the scope that they look at."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping

from couler.errors import WireError
from couler.ir.diagnostics import Diagnostic, Severity, did_you_mean
from couler.ir.policies import AnyOf, Dependency, SourceRef
from couler.ir.semantics import ANY, TEXT, Kind, output_kinds
from couler.ir.semantics.wire import decode, matches
from couler.ir.values import Condition, ValueType
from couler.ir.workflow import Script, Step, Workflow

if t.TYPE_CHECKING:
    from couler.ir.verify.places import Use

_NUMBER = re.compile(r"-[0-9]+(?=\W)")


class ScopeView:
    """A scope while it is checked."""

    def __init__(
        self,
        report: Report,
        workflow: Workflow,
        steps: tuple[Step, ...],
        *,
        parameters: Mapping[str, Kind],
        domains: Mapping[str, tuple[object, ...]],
        prefix: str = "",
        order: Order = (),
        owner: Step | None = None,
        handler: str | None = None,
        outer: Mapping[str, Step] | None = None,
    ) -> None:
        self.report = report
        self.workflow = workflow
        self.all_steps = steps
        self.parameters = parameters
        self.domains = domains
        self.prefix = prefix
        self.order = order
        self.owner = owner
        self.handler = handler
        self.outer = outer or {}
        self.steps: dict[str, Step] = {}
        self.position: dict[str, int] = {}
        self.doubtful: set[str] = set()
        for index, step in enumerate(steps):
            name = step.name
            if name not in self.steps:
                self.steps[name] = step
                self.position[name] = index
            if step.when is not None:
                self.doubtful.add(name)
            for entry in step.depends_on:
                if not isinstance(entry, str) and _asks_for_failure(entry):
                    self.doubtful.add(name)
        self.readable = {**self.outer, **self.steps}
        self._outputs: dict[str, Mapping[str, Kind]] = {}
        self._reasons: dict[str, frozenset[Reason]] = {}

    def outputs_of(self, name: str) -> Mapping[str, Kind]:
        """Return the outputs of a step of this scope, or of the workflow for an exit handler."""
        known = self._outputs.get(name)
        if known is None:
            known = self._outputs[name] = output_kinds(self.readable[name])
        return known

    def reasons(self, name: str) -> frozenset[Reason]:
        """Return all that must hold for a step of this scope not to be skipped."""
        known = self._reasons.get(name)
        if known is None:
            known = self._reasons[name] = frozenset(_reasons(self.steps[name]))
        return known

    @property
    def where(self) -> str:
        """The scope in words: `in the workflow`, `in the group "train"`."""
        if self.owner is not None:
            return f'in the group "{self.prefix.rstrip("/")}"'
        if self.handler is not None:
            return f'in the exit handler "{self.handler}"'
        return "in the workflow"

    def path(self, step: Step) -> str:
        """Return the path of a step of this scope."""
        return self.prefix + step.name

    def add_to_scope(self, code: str, message: str) -> None:
        """Report an error of the scope as a whole."""
        self.add(code, None, message)

    def adder(self, step: Step) -> Callable[[str, str], None]:
        """Return a function that reports an error of a step: its code and message."""
        return lambda code, message: self.add(code, step, message)

    def add(
        self,
        code: str,
        step: Step | None,
        message: str,
        severity: Severity = "error",
        position: int | None = None,
    ) -> None:
        """Report a problem of a step, or of the scope as a whole."""
        if step is not None:
            self.report.add(
                code,
                f'step "{self.path(step)}": {message}',
                order=(*self.order, self.position[step.name] if position is None else position),
                step=self.path(step),
                source=step.source,
                severity=severity,
                once=_mistake(code, step, message),
            )
        elif self.owner is not None:
            path = self.prefix.rstrip("/")
            self.report.add(
                code,
                f'step "{path}": {message}',
                order=self.order,
                step=path,
                source=self.owner.source,
                severity=severity,
            )
        else:
            where = f'exit handler "{self.handler}"' if self.handler is not None else "workflow"
            self.report.add(
                code,
                f"{where}: {message}",
                order=self.order or (len(self.all_steps),),
                source=self.workflow.source,
                severity=severity,
            )


def _mistake(code: str, step: Step, message: str) -> object:
    """Return what problems of steps have in common that are one mistake of the program; or None."""
    if code == "CLR150":  # the second step of a name has a number
        message = _NUMBER.sub("", message)
    elif not code.startswith("CLR4"):
        return None
    action = step.action
    place: object = step.source
    if isinstance(action, Script) and action.function is not None:
        place = (action.function, action.source)
    return None if place is None else (code, place, message)


class Reason(t.NamedTuple):
    """Something that must hold for a step to run; equal texts mean the same."""

    key: str
    condition: Condition | None = None
    failed: str | None = None
    """Name of the step whose failure is asked for."""
    succeeded: str | None = None
    """Name of the step whose success is needed."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reason) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _asks_for_failure(entry: str | Dependency | AnyOf) -> bool:
    if isinstance(entry, Dependency):
        return entry.on == "failure"
    if isinstance(entry, AnyOf):
        outcomes = {option.on for option in entry.options if isinstance(option, Dependency)}
        return "failure" in outcomes and "completion" not in outcomes
    return False


def _reasons(step: Step) -> Iterator[Reason]:
    if step.when is not None:
        yield from (Reason(_key(part), condition=part) for part in conjuncts(step.when))
    for entry in step.depends_on:
        if isinstance(entry, Dependency) and _asks_for_failure(entry):
            yield Reason(f"failed {entry.step}", failed=entry.step)
        elif isinstance(entry, AnyOf) and _asks_for_failure(entry):
            yield Reason("any of " + ", ".join(sorted(map(str, entry.options))))


def conjuncts(condition: Condition) -> Iterator[Condition]:
    """Yield the conditions that must all hold for a condition to hold."""
    if condition.kind == "and":
        for item in condition.items:
            yield from conjuncts(item)
    else:
        yield condition


def _key(condition: Condition) -> str:
    # Not the condition itself: to Python 1, 1.0 and True are equal, to a comparison they are not.
    return condition.model_dump_json()


Order: t.TypeAlias = tuple[int, ...]
"""Place in program order: positions from the outside in; a prefix comes first."""


MAX_HINTS = 20
"""After so many no more nearest names are looked for: each takes time linear in the names."""


class Report:
    """The problems found so far; the same one is kept once."""

    def __init__(self) -> None:
        self.places: list[Use] = []
        self._found: dict[Diagnostic, Order] = {}
        self._told: set[object] = set()
        self._hints_left = MAX_HINTS

    def hint(self, name: str, known: Iterable[str]) -> str:
        """Return a hint that names the nearest known name; nothing after many hints."""
        if self._hints_left == 0:
            return ""
        self._hints_left -= 1
        return did_you_mean(name, known)

    def add(
        self,
        code: str,
        message: str,
        *,
        order: Order,
        step: str | None = None,
        source: SourceRef | None = None,
        severity: Severity = "error",
        once: object = None,
    ) -> None:
        """Add a problem; of those that are equal in `once`, which is not None, only the first."""
        if once is not None:
            if once in self._told:
                return
            self._told.add(once)
        diagnostic = Diagnostic(code, message, step=step, source=source, severity=severity)
        self._found.setdefault(diagnostic, order)

    def in_program_order(self) -> tuple[Diagnostic, ...]:
        """Return the problems in program order; those of one step as they were found."""
        return tuple(sorted(self._found, key=self._found.__getitem__))


def is_certainly_not(kind: Kind, declared: ValueType) -> bool:
    """Return whether no value of a kind can be read as a declared type."""
    if declared in ("str", "json") or kind in (ANY, TEXT):
        return False
    return kind.family != Kind(declared).family


def is_readable(value: object, declared: ValueType) -> bool:
    """Return whether a JSON value can be read where a type is declared."""
    if matches(value, declared) or declared == "str":
        return True
    if not isinstance(value, str):
        return False
    try:
        decode(value, declared)
    except WireError:
        return False
    return True
