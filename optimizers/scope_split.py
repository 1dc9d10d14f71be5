"""One scope in parts, found within estimates and made to fit what is measured, with the reasons."""

from __future__ import annotations

import itertools
import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from couler.errors import BudgetError
from couler.ir.policies import Part
from couler.ir.sizes import Limits, Over
from couler.ir.walk import Scope, references
from couler.ir.wording import counted
from couler.ir.workflow import Step
from couler.optimizers.partitioning.measure import cut_edges
from couler.optimizers.partitioning.methods import partition, set_apart
from couler.optimizers.partitioning.model import Partition, TaskGraph
from couler.optimizers.partitioning.search import SLACK
from couler.optimizers.run_budget import GroupFinder, RunBudget
from couler.optimizers.step_graph import step_graph

_TRIES = 12
"""How often runs are made smaller because the groups in them take more than was left for them."""


_NEEDED = "steps of several runs need them as daemons"


class _Way(t.NamedTuple):
    """How runs are made, and how much later, as a share, they may end."""

    method: str
    slack: float = SLACK


_OTHER_WAYS = (_Way("bands", 2.0), _Way("order"))
"""Ways that may hand on less from run to run."""


class ScopeSplit:
    """How one scope is put into parts."""

    def __init__(
        self,
        scope: Scope,
        limits: Limits,
        groups: GroupFinder,
        method: str,
        *,
        budget: RunBudget | None,
        stated_groups: int | None,
    ) -> None:
        self.scope = scope
        self.reason = ""
        self._limits = limits
        self._groups = groups
        self._budget = budget
        self._stated_groups = stated_groups
        self._ways = [_Way(method), *(_OTHER_WAYS if method == "bands" else ())]
        self._needs_runs = budget is not None and budget.is_needed
        self._why_runs = ""
        """Why one run is not enough, where it is not the size of the workflow as it is written."""
        self._runs: Partition | None = None
        self._apart: dict[int, str] = {}
        """The steps that stay in the first run, by their number, and why."""
        self._loads_of: Mapping[str, Mapping[str, int]] = {}
        self._has_groups = False

    @cached_property
    def _graph(self) -> TaskGraph:
        """The graph of the scope, with what each step costs of a run."""
        return step_graph(self.scope.steps, {} if self._budget is None else self._budget.costs)

    @property
    def is_stated(self) -> bool:
        """Whether the user states a budget that parts of it keep."""
        asked = self._budget is not None and self._budget.asked
        return asked or self._stated_groups is not None

    @property
    def _at_once(self) -> int:
        """How many of its steps run at once at most; 0 for any number."""
        owner = self.scope.owner
        return 0 if owner is None else owner.max_parallel or 0

    @property
    def _runs_in_turn(self) -> bool:
        """Whether its groups would run one after the other."""
        return self._at_once > 0 and self._limits.bounded_parts_in_turn

    @property
    def _is_only_stated(self) -> bool:
        """Whether the user wants groups that the engine does not need."""
        most, count = self._limits.scope_steps, len(self.scope.steps)
        return (most is None or count <= most) and count > (self._stated_groups or count)

    @property
    def besides(self) -> str:
        """What a run takes besides its steps, as a sentence, if a budget of that is stated."""
        return "" if self._budget is None else self._budget.besides

    def find(self) -> Mapping[str, Part]:
        """Return the part of each step, or nothing where one is enough."""
        self._runs = None
        self.reason = ""
        if self._runs_in_turn and self._is_only_stated:
            self.reason = in_turn_reason(name_of(self.scope), self._at_once, is_split=False)
            return {}
        if not self._needs_runs or self._budget is None:
            steps = self.scope.steps
            try:
                groups = self._groups.find(steps)
                if self._budget is None or not self._budget.can_help:
                    return self._one_run(groups)
                if not self._budget.is_over_as_one(steps, groups):
                    return self._one_run(groups)
                self._why_runs = "with the groups that it needs it would be too large for one run"
            except BudgetError as error:
                if self._budget is None or not self._budget.can_help:
                    raise
                # Half of the steps in a run, if nothing else makes runs smaller.
                self._budget.shrink("steps", {"steps": sum(self._budget.costs["steps"])}, 2.0)
                self._why_runs = f"its groups do not fit into one run ({error})"
            self._needs_runs = True
        return self._several_runs(self._budget)

    def fit(self, overs: Iterable[Over]) -> bool:
        """Change what parts may take by what was measured of them, for the next `find`."""
        changed = False
        for over in overs:
            if over.where == "group" and self._has_groups:
                self._groups.shrink(over.excess)
                changed = True
            elif over.where == "main" and self._budget is not None:
                self._fit_main(over, self._budget)
                changed = True
            elif over.where == "run" and self._budget is not None and self._runs is not None:
                self._fit_run(over, self._budget)
                changed = True
        return changed

    def _fit_main(self, over: Over, budget: RunBudget) -> None:
        """Change the one run into several, or make what the others take of the first one less."""
        if self._runs is None:
            if not budget.can_help:
                raise BudgetError(str(over))
            graph = self._graph
            whole = Partition((0,) * len(self.scope.steps), 1)
            budget.shrink(over.what, budget.loads(graph, whole)[0], over.excess)
            self._needs_runs = True
            self._why_runs = f"{over}, with the groups that it needs"
        elif over.what != "bytes":
            budget.have_fewer_runs(self._runs.count, over.excess)
        else:
            self._hand_on_less(over, budget, self._runs)

    def _hand_on_less(self, over: Over, budget: RunBudget, runs: Partition) -> None:
        """Find a way to make runs of which less is handed on; what that comes to is not tried."""
        values = _handed_on(self.scope.steps, runs)
        enough = over.between_runs - (over.taken - over.most)
        while values and enough > 0 and len(self._ways) > 1:
            del self._ways[0]
            try:
                found = self._partition(budget)
            except BudgetError:
                continue
            if over.between_runs * _handed_on(self.scope.steps, found) <= enough * values:
                return
        raise BudgetError(f"{over} ({values:,} values, and how steps end)")

    def _fit_run(self, over: Over, budget: RunBudget) -> None:
        if over.what == "steps" and not self._has_groups:
            self._groups.shrink(over.excess)
            return
        what = over.what if over.what in ("bytes", "definitions") else "steps"
        budget.shrink(what, self._loads_of[over.name], over.excess)

    def _one_run(self, groups: Partition | None) -> Mapping[str, Part]:
        self._has_groups = groups is not None and groups.count > 1
        if groups is None or not self._has_groups:
            return {}
        scope, most, stated = self.scope, self._limits.scope_steps, self._stated_groups
        why = []
        if most is not None and len(scope.steps) > most:
            why.append(f"the engine takes {most:,} in one")
        if stated is not None and (not why or most is None or stated < most):
            why.append(f"at most {stated:,} are to be in a group")
        self.reason = groups_reason(name_of(scope), scope.steps, groups, " and ".join(why))
        if self._runs_in_turn:
            self.reason += f" {in_turn_reason(name_of(scope), self._at_once, is_split=True)}"
        return _parts(scope.steps, None, [groups], [None])

    def _several_runs(self, budget: RunBudget) -> Mapping[str, Part]:
        """Return runs that are within the budget with the groups in them, and these groups."""
        steps = self.scope.steps
        refused: BudgetError | None = None
        for _ in range(_TRIES):
            try:
                runs = self._partition(budget)
            except BudgetError as error:
                raise refused or error from None
            all_loads = budget.loads(self._graph, runs)
            names = self._names(runs)
            grouped: list[Partition | None] = []
            for run, inside in enumerate(runs.parts):
                own = [steps[number] for number in inside]
                if names[run] is None:
                    grouped.append(None)
                    continue
                name, excess = "steps", self._groups.values_share(own)
                if excess <= 1.0:
                    try:
                        grouped.append(self._groups.find(own))
                    except BudgetError as error:
                        refused = refused or error
                        budget.shrink(name, all_loads[run], 2.0)
                        break
                    name, excess = budget.excess(all_loads[run], own, grouped[-1])
                if excess > 1.0:
                    budget.shrink(name, all_loads[run], excess)
                    break
            else:
                if runs.count == 1:  # what the user allows is enough for one
                    return self._one_run(grouped[0])
                self._has_groups = any(grouped)
                self._runs = runs
                self._loads_of = {
                    name: loads
                    for name, loads in zip(names, all_loads, strict=True)
                    if name is not None
                }
                self.reason = runs_reason(
                    steps,
                    runs,
                    grouped,
                    self._why_runs or budget.why,
                    stays=self._apart,
                )
                if budget.at_once and self._limits.takes_runs:
                    self.reason += f" {each_run_reason(budget.at_once)}"
                return _parts(steps, runs, grouped, names)
        what = "the groups that a run of its own needs do not fit into it"
        raise refused or BudgetError(what)

    def _names(self, runs: Partition) -> list[str | None]:
        """Return what runs are called, by their number; None for a step that stays in the first."""
        count = itertools.count(1)
        return [None if first in self._apart else f"run-{next(count)}" for first, *_ in runs.parts]

    def _partition(self, budget: RunBudget) -> Partition:
        """Return the steps of runs of their own, and by themselves those that stay in the first."""
        way, graph, stays = self._ways[0], self._graph, budget.stays
        if len(stays) == len(graph.names):
            why = next(iter(stays.values()))
            raise BudgetError(f"all steps have to stay in the first run, as {why}")
        found = partition(
            graph,
            budget.limits,
            way.method,
            slack=way.slack,
            most_parts=budget.most_runs,
            part_overhead=budget.part_overhead,
            cut_overhead=budget.cut_overhead,
        )
        self._apart = {}
        if not stays or (found.count == 1 and not budget.is_over):
            return found
        apart = {number: stays[name] for number, name in enumerate(graph.names) if name in stays}
        while apart:
            self._apart.update(apart)
            found = set_apart(graph, found, apart.keys())
            apart = {
                number: _NEEDED
                for number, step in enumerate(self.scope.steps)
                if step.daemon and number not in self._apart
                for after in graph.successors[number]
                if after not in self._apart and found.part_of[after] != found.part_of[number]
            }
        return found


def name_of(scope: Scope) -> str:
    """Return what sentences call a scope."""
    if scope.path:
        return f'the group "{"/".join(scope.path)}"'
    return "the workflow" if scope.handler is None else f'the exit handler "{scope.handler}"'


def _parts(
    steps: Sequence[Step],
    runs: Partition | None,
    groups: Sequence[Partition | None],
    names: Sequence[str | None],
) -> dict[str, Part]:
    """Return the part of each step that has one."""
    found: dict[str, Part] = {}
    before = 0
    members = (tuple(range(len(steps))),) if runs is None else runs.parts
    for inside, grouped, run in zip(members, groups, names, strict=True):
        if run is None and grouped is None:
            continue
        for position, number in enumerate(inside):
            group = None if grouped is None else str(before + grouped.part_of[position] + 1)
            found[steps[number].name] = Part(run=run, group=group)
        before += 0 if grouped is None else grouped.count
    return found


def _handed_on(steps: Sequence[Step], runs: Partition) -> int:
    """Return how many values runs hand on: each where it is given and once where it is read."""
    run_of = {step.name: runs.part_of[number] for number, step in enumerate(steps)}
    given: set[tuple[str, str]] = set()
    read: set[tuple[str, str, int]] = set()
    for step in steps:
        for one in references(step):
            run = run_of.get(one.step)
            if run is not None and run != run_of[step.name]:
                given.add((one.step, one.output))
                read.add((one.step, one.output, run_of[step.name]))
    return len(given) + len(read)


_LISTED = 5
"""More steps than these are counted, not named."""


def groups_reason(where: str, steps: Sequence[Step], groups: Partition, why: str) -> str:
    """Return why a scope has groups, and how many edges lead from one to another."""
    return (
        f"{capital(where)} has {counted(len(steps), 'step')}, and {why}: "
        f"{counted(groups.count, 'group')} of at most {max(map(len, groups.parts)):,}. "
        f"{_cut(steps, groups, 'group')}"
    )


def runs_reason(
    steps: Sequence[Step],
    runs: Partition,
    groups: Sequence[Partition | None],
    why: str,
    *,
    stays: Mapping[int, str],
) -> str:
    """Return why the workflow has runs of its own, and how many edges lead from one to another."""
    count = sum(found.count for found in groups if found is not None)
    inside = f", with {counted(count, 'group')} in them" if count else ""
    own = [part for part in runs.parts if part[0] not in stays]
    largest = max(map(len, own))
    told = (
        f"{capital(why)}: {counted(len(own), 'run')} of at most {counted(largest, 'step')}{inside}."
    )
    return " ".join([told, *_staying(steps, stays), _cut(steps, runs, "run")])


def in_turn_reason(where: str, at_once: int, *, is_split: bool) -> str:
    """Return what groups mean in a scope that bounds how many of its steps run at once."""
    bound = f"at most {at_once:,} of its steps run at once (max_parallel)"
    if not is_split:
        return (
            f"{capital(where)} is not split: {bound}, and the engine would run one group after the "
            "other."
        )
    return (
        f"{capital(bound)}, and the engine keeps that by running one group after the other, "
        "whether or not they wait for each other."
    )


def each_run_reason(at_once: int) -> str:
    """Return what becomes of a bound of the workflow where it has runs of its own."""
    return (
        f"That at most {at_once:,} steps run at once (max_parallel) holds for each run by itself."
    )


def _staying(steps: Sequence[Step], stays: Mapping[int, str]) -> Iterator[str]:
    """Yield a sentence for each reason for which steps stay in the first run."""
    for why in dict.fromkeys(stays.values()):
        names = [f'"{steps[number].name}"' for number, one in stays.items() if one == why]
        more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
        yield (
            f"In the first run stay those that must, as {why}: {', '.join(names[:_LISTED])}{more}."
        )


def _cut(steps: Sequence[Step], parts: Partition, kind: str) -> str:
    graph = step_graph(steps, {})
    edges = sum(map(len, graph.predecessors))
    cut = len(cut_edges(graph, parts))
    if not cut:
        return f"No {kind} waits for another."
    lead = "leads" if cut == 1 else "lead"
    return f"{cut:,} of {counted(edges, 'edge')} {lead} from one {kind} to another."


def told_with_daemons(error: BudgetError, steps: Sequence[Step], *, is_stated: bool) -> str:
    """Return why steps do not fit, by the daemons that hold them together where there are some."""
    daemons = [f'"{step.name}"' for step in steps if step.daemon]
    if len(steps) < 2 or not daemons or not error.excess:
        return str(error)
    more = f" and {len(daemons) - _LISTED:,} more" if len(daemons) > _LISTED else ""
    named = ", ".join(daemons[:_LISTED]) + more
    one = len(daemons) == 1
    sum_of_them = f"{len(steps):,} steps, more than one takes"
    if is_stated:
        sum_of_them = f"{error.excess} in sum"
    return (
        f"the {'daemon' if one else 'daemons'} {named} and all that wait for "
        f"{'it' if one else 'them'} stay in one part: {sum_of_them}"
    )


def capital(text: str) -> str:
    """Return a text with its first letter as at the start of a sentence."""
    return text[:1].upper() + text[1:]
