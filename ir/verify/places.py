"""Rules for places outside of a workflow that several of its steps use."""

from __future__ import annotations

import bisect
import itertools
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass

from couler.ir.artifacts import (
    ArtifactoryLocation,
    AzureLocation,
    GcsLocation,
    GitLocation,
    HdfsLocation,
    HttpLocation,
    Location,
    OssLocation,
    PluginLocation,
    RawLocation,
    S3Location,
    is_in_repository,
    repository_key,
)
from couler.ir.policies import Dependency
from couler.ir.values import ItemRef, Literal, OwnRef, RoundRef, RunRef, Template, Text, Value, walk
from couler.ir.verify.logic import Logic
from couler.ir.verify.scope import Report, ScopeView
from couler.ir.walk import HOOKS, predecessors
from couler.ir.workflow import Group, Step, Workflow

_AMAZON = "s3.amazonaws.com"
_MARK = "\0"
"""Stands around values in the text of a place."""

_MAX_VISITS = 200_000
"""So many steps are looked at to find out what waits for what; then all counts as ordered."""

_MAX_PAIRS = 2_000
"""So many pairs of writers are compared of which others stand between, those nearest first."""


class Place(t.NamedTuple):
    """An address; equal ones are one place."""

    storage: tuple[object, ...]
    text: str
    scope: str | None
    """Path of the scope whose values are in the text; None for none."""


@dataclass(frozen=True, slots=True)
class Use:
    """A step that puts a file at a place, or takes one from there."""

    view: ScopeView
    step: Step
    field: str
    place: Place
    is_folder: bool
    """It is all that lies below the address."""
    writes: bool


def add_use(
    view: ScopeView, step: Step, field: str, location: Location, *, is_folder: bool, writes: bool
) -> None:
    """Remember that a step uses a place, if it is known which one that is."""
    found = _address(location)
    if found is None or HOOKS in view.prefix:
        return
    storage, text = found
    known = _text_of(text, step)
    if known is None:
        return
    words, is_scoped = known
    scope = f"{view.handler or ''}:{view.prefix}" if is_scoped else None
    place = Place(storage, words, scope)
    view.report.places.append(Use(view, step, field, place, is_folder, writes))


def _address(location: Location) -> tuple[tuple[object, ...], Text] | None:
    """Return the storage of a location and the text that names a file in it."""
    if is_in_repository(location):
        return ("repository",), repository_key(location)
    match location:
        case S3Location():
            return ("s3", location.endpoint or _AMAZON, location.bucket), location.key
        case OssLocation():
            host = (location.endpoint or "").rpartition("//")[2]
            return ("oss", host, location.bucket), location.key
        case GcsLocation():
            return ("gcs", location.bucket), location.key
        case AzureLocation():
            endpoint = (location.endpoint or "").rstrip("/")
            return ("azure", endpoint, location.container), location.blob
        case HdfsLocation():
            return ("hdfs", location.addresses), location.path
        case HttpLocation() | ArtifactoryLocation():
            return ("url",), location.url
        case PluginLocation():
            return ("plugin", location.name, location.configuration), location.key
        case GitLocation() | RawLocation():
            return None
    t.assert_never(location)


def _text_of(text: Text, step: Step) -> tuple[str, bool] | None:
    """Return a text with its values in it as JSON, and whether they are those of one scope."""
    words: list[str] = []
    is_scoped = False
    for part in text.parts if isinstance(text, Template) else (text,):
        if isinstance(part, str):
            words.append(part)
        elif isinstance(part, Literal) and isinstance(part.value, str):
            words.append(part.value)
        else:
            lists = _lists_of(part, step)
            if lists is None:
                return None
            shown = "".join(value.model_dump_json() for value in (part, *lists))
            words.append(f"{_MARK}{shown}{_MARK}")
            inner = [one for value in (part, *lists) for one in walk(value)]
            is_scoped |= not all(isinstance(one, Literal | RunRef | ItemRef) for one in inner)
    return "".join(words).strip("/"), is_scoped


def _lists_of(value: Value, step: Step) -> list[Value] | None:
    """Return the lists whose items a value holds; None if it cannot be told."""
    lists = []
    for inner in walk(value):
        if isinstance(inner, RoundRef | OwnRef):
            return None
        if isinstance(inner, ItemRef):
            over = None if step.foreach is None else step.foreach.over.get(inner.name)
            if over is None:
                return None
            lists.append(over)
    return lists


def check_places(workflow: Workflow, report: Report) -> None:
    """Report places at which files take each other's place, or are read before they are there."""
    by_place: dict[Place, list[Use]] = {}
    reads = []
    order = _Order(workflow)
    for use in sorted(report.places, key=_place_in_program):
        if use.writes:
            _check_items_around(use, order)
            by_place.setdefault(use.place, []).append(use)
        else:
            reads.append(use)
    met = {place: _Met(order) for place, uses in by_place.items() if len(uses) > 1}
    for place, meeting in met.items():
        for first, second in itertools.pairwise(by_place[place]):
            meeting.add(first, second, order.relation(first, second))
    if reads and by_place:
        _check_readers(reads, by_place, order)
    # Last, so that the many pairs take no time from what is told above.
    _check_far_writers(by_place, met, order)


def _place_in_program(use: Use) -> tuple[int, ...]:
    return (*use.view.order, use.view.position[use.step.name])


def _check_items_around(use: Use, order: _Order) -> None:
    """Refuse a place that all items of a group around a step would write to."""
    if use.place.scope is not None:  # it depends on what the group is given
        return
    for name, group in order.around(use):
        if group.foreach is not None:
            use.view.add(
                "CLR464",
                use.step,
                f'{use.field}.at: all items of "{name}" are put at one place, where only the last '
                "one stays. Let the location depend on the item.",
            )
            return


class _Met:
    """Tells of a place the first two that meet, and the first two that follow each other."""

    def __init__(self, order: _Order) -> None:
        self._order = order
        self._told: set[bool] = set()

    @property
    def is_all_told(self) -> bool:
        return len(self._told) == 2

    def add(self, first: Use, second: Use, relation: Relation) -> None:
        """Report two writers, if nothing like that has been told."""
        if relation == "apart" or (relation == "together") in self._told:
            return
        self._told.add(relation == "together")
        if relation == "together":
            _report_chance(first, second, self._order)
        else:
            _report_replaced(*((second, first) if relation == "after" else (first, second)))


def _check_far_writers(
    by_place: dict[Place, list[Use]], met: dict[Place, _Met], order: _Order
) -> None:
    """Report writers that others stand between, such as those of another branch."""
    pairs_left = _MAX_PAIRS
    for place, meeting in met.items():
        for first, second in _far_pairs(by_place[place]):
            if meeting.is_all_told:
                break
            pairs_left -= 1
            relation = order.relation(first, second)
            if pairs_left < 0 or order.has_given_up:  # what it says then is a guess
                return
            meeting.add(first, second, relation)


def _far_pairs(uses: list[Use]) -> Iterator[tuple[Use, Use]]:
    for distance in range(2, len(uses)):
        yield from zip(uses, uses[distance:], strict=False)


def _report_replaced(earlier: Use, later: Use) -> None:
    later.view.add(
        "CLR465",
        later.step,
        f"{later.field}.at: it takes the place of {earlier.field} of step "
        f'"{earlier.view.path(earlier.step)}". Let the places differ if both are to stay.',
        "warning",
    )


def _report_chance(first: Use, second: Use, order: _Order) -> None:
    what = first.field
    if first.step is not second.step:
        what += f' of step "{first.view.path(first.step)}"'
    is_doubtful = order.is_doubtful(first) or order.is_doubtful(second)
    second.view.add(
        "CLR465",
        second.step,
        f"{second.field}.at: {what} is put at the same place, and which one stays is left to "
        "chance. Let the places differ.",
        "warning" if is_doubtful else "error",
    )


def _check_readers(reads: list[Use], by_place: dict[Place, list[Use]], order: _Order) -> None:
    below: dict[tuple[object, ...], list[tuple[str, int]]] = {}
    writers = [uses[0] for uses in by_place.values()]
    for index, use in enumerate(writers):
        below.setdefault(use.place.storage, []).append((use.place.text, index))
    for texts in below.values():
        texts.sort()
    for read in reads:
        for write in _met(read, by_place, writers, below.get(read.place.storage, [])):
            if write.step is read.step or order.relation(write, read) != "together":
                continue
            read.view.add(
                "CLR466",
                read.step,
                f'{read.field}.at: step "{write.view.path(write.step)}" puts its {write.field} '
                "there, but this step does not wait for it. Take that output itself as the input.",
                "warning",
            )
            break


def _met(
    read: Use,
    by_place: dict[Place, list[Use]],
    writers: list[Use],
    texts: list[tuple[str, int]],
) -> Iterator[Use]:
    """Yield what is put where something is read: at that place, around it, or below it."""
    storage, text, scope = read.place
    yield from by_place.get(read.place, ())
    for position, letter in enumerate(text):
        if letter == "/":
            around = by_place.get(Place(storage, text[:position], scope), ())
            yield from (use for use in around if use.is_folder)
    if read.is_folder:
        start = f"{text}/"
        for position in range(bisect.bisect_left(texts, (start, -1)), len(texts)):
            if not texts[position][0].startswith(start):
                break
            write = writers[texts[position][1]]
            if scope in (None, write.place.scope):
                yield write


Relation: t.TypeAlias = t.Literal["before", "after", "together", "apart"]
"""Of a step to another; `apart` means that at most one of them runs."""


class _Order:
    """What waits for what in a workflow."""

    def __init__(self, workflow: Workflow) -> None:
        self._handlers = {handler.name: handler for handler in workflow.exit_handlers}
        self._steps = {None: workflow.steps} | {
            name: handler.steps for name, handler in self._handlers.items()
        }
        self._domains = {p.name: p.choices for p in workflow.parameters if p.choices}
        self._scopes: dict[tuple[str | None, tuple[str, ...]], dict[str, Step]] = {}
        self._visits_left = _MAX_VISITS

    @property
    def has_given_up(self) -> bool:
        """Whether too much was asked, so that all counts as ordered."""
        return self._visits_left < 0

    def relation(self, first: Use, second: Use) -> Relation:
        """Return what is known of when two steps run."""
        one, other = first.view.handler, second.view.handler
        if one != other:
            if one is None or other is None:
                return "before" if one is None else "after"
            on = {self._handlers[one].on, self._handlers[other].on}
            return "apart" if on == {"success", "failure"} else "together"
        paths = zip(_names(first), _names(second), strict=False)
        common: tuple[str, ...] = ()
        for left, right in paths:
            if left != right:
                scope = self._scope(one, common)
                return self._between(scope, left, right)
            common += (left,)
        return "together"

    def is_doubtful(self, use: Use) -> bool:
        """Return whether a step, or a group around it, may be skipped."""
        around = (group for _, group in self.around(use))
        return _can_be_skipped(use.step) or any(map(_can_be_skipped, around))

    def around(self, use: Use) -> Iterator[tuple[str, Step]]:
        """Yield the groups around a step with their names, outermost first."""
        names = _names(use)
        for depth, name in enumerate(names[:-1]):
            group = self._scope(use.view.handler, names[:depth]).get(name)
            if group is not None:
                yield name, group

    def _scope(self, handler: str | None, path: tuple[str, ...]) -> dict[str, Step]:
        known = self._scopes.get((handler, path))
        if known is None:
            steps = self._steps[handler]
            if path:
                group = self._scope(handler, path[:-1]).get(path[-1])
                steps = group.action.steps if group and isinstance(group.action, Group) else ()
            known = self._scopes[handler, path] = {step.name: step for step in steps}
        return known

    def _between(self, scope: dict[str, Step], left: str, right: str) -> Relation:
        if self._waits(scope, right, left):
            return "before"
        if self._waits(scope, left, right):
            return "after"
        one, other = scope.get(left), scope.get(right)
        if one is None or other is None:  # another group has the name of theirs
            return "apart"
        return "apart" if self._exclude(one, other) else "together"

    def _waits(self, scope: dict[str, Step], later: str, earlier: str) -> bool:
        seen, ahead = {later}, [later]
        while ahead:
            self._visits_left -= 1
            if self._visits_left < 0:
                return True
            step = scope.get(ahead.pop())
            for name in () if step is None else predecessors(step):
                if name == earlier:
                    return True
                if name not in seen:
                    seen.add(name)
                    ahead.append(name)
        return False

    def _exclude(self, left: Step, right: Step) -> bool:
        """Return whether at most one of two steps can run."""
        for one, other in ((left, right), (right, left)):
            succeeded = {name for name in predecessors(other) if name not in _outcomes(other)}
            succeeded |= {name for name, on in _outcomes(other).items() if on == "success"}
            if any(on == "failure" and name in succeeded for name, on in _outcomes(one).items()):
                return True
        if left.when is None or right.when is None:
            return False
        logic = Logic(self._domains)
        both = logic.all_of((logic.formula(left.when), logic.formula(right.when)))
        return logic.results(both) == {False}


def _names(use: Use) -> tuple[str, ...]:
    prefix = use.view.prefix.split("/")[:-1]
    return (*(prefix if use.view.handler is None else prefix[1:]), use.step.name)


def _outcomes(step: Step) -> dict[str, str]:
    """Return the outcomes of single steps that a step asks for."""
    found = {}
    for entry in step.depends_on:
        if isinstance(entry, str):
            found[entry] = "success"
        elif isinstance(entry, Dependency):
            found[entry.step] = entry.on
    return found


def _can_be_skipped(step: Step) -> bool:
    return step.when is not None or "failure" in _outcomes(step).values()
