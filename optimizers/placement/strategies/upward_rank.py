"""List scheduling by upward rank, improved by a bounded search: the default."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Sequence
from dataclasses import dataclass, replace

from couler.errors import PlacementError
from couler.optimizers.figure_texts import LEAST_S, seconds_text
from couler.optimizers.placement.compiled import Compiled
from couler.optimizers.placement.first_plans import Plan, list_pipelines, list_tasks
from couler.optimizers.placement.improving import SETTLING, Evaluation, Score, improve, polish
from couler.optimizers.placement.planned_pipelines import Outcome
from couler.optimizers.placement.problem import Assignment, Choice, Pipeline
from couler.optimizers.placement.requirements import MEMORY_MARGIN, check_placeable
from couler.optimizers.placement.simulation import simulate
from couler.optimizers.placement.speeds import check_speeds
from couler.optimizers.placement.strategies.kubernetes import KubernetesScheduler
from couler.optimizers.placement.strategy import ClusterState


def mean_seconds(model: Compiled) -> list[float]:
    """Return the mean seconds of each task over the nodes that can run it."""
    sizes = [len(inside) for inside in model.classes]
    found = []
    for row in model.seconds:
        total = count = 0.0
        for seconds, size in zip(row, sizes, strict=True):
            if seconds < math.inf:
                total += seconds * size
                count += size
        found.append(total / count if count else 0.0)
    return found


def upward_ranks(model: Compiled, means: list[float]) -> list[float]:
    r"""Return the upward rank of each task, in seconds."""
    # H. Topcuoglu, S. Hariri, M.-Y. Wu: Performance-effective and low-complexity task scheduling
    # for heterogeneous computing, IEEE Trans. Parallel Distrib. Syst. 13(3) (2002), Eq. 6 (HEFT).
    ranks = list(means)
    for task in range(len(ranks) - 1, -1, -1):  # numbers are a topological order
        for source, moved in model.before[task]:
            ranks[source] = max(ranks[source], means[source] + moved + ranks[task])
    return ranks


Objective: t.TypeAlias = t.Literal["makespan", "waiting", "cost"]

_TASK_VISITS = 400_000
"""How many tasks all evaluations of a search may look at together: a second or two."""

_POLISH_VISITS = 200_000
"""How many tasks may be looked at to find out that no other node of any one task is better: a
second at worst."""

_SPREAD_VISITS = 700_000
"""How much may be looked at to find out what Kubernetes would do: a second at worst."""

_SPREAD_ASKING = 10
"""To ask for a task takes as long as to look at so many nodes."""

_TIE = 1e-3
"""What the second of two aims weighs against the first: it decides between near equals."""

_PRICE_TIE = 1e-6
"""What the cost weighs against other aims: it decides between equals."""


@dataclass(frozen=True)
class UpwardRank:
    """Each task where it ends first, the most urgent first; then better plans are searched for.

    First plans are those of HEFT [1]_: tasks by upward rank, each on the node where it ends
    first, data moved and gaps between tasks counted, and GPUs kept for what they make faster. Where
    pipelines start as wholes, it is pipelines that are placed where they end first: the shortest
    first, the longest first, and as they came. Each first plan is improved by simulated annealing
    over nodes and order, and the best of what comes of it once more, for as long. At last each task
    of a workload that is not large goes where it is better, until no other node of any one task
    is. A plan is judged by what it comes to under the rules by which tasks will start, with the
    expected speeds.

    Where tasks start by themselves on nodes that run as many as fit, what the scheduler of
    Kubernetes would do is one of the first plans in clusters and workloads of a moderate size, so
    that no plan is worse than that.

    Parameters
    ----------
    objective
        `makespan`: when the last task ends. `waiting`: the mean seconds in which pipelines wait.
        `cost`: US dollars for the time that nodes are held, by their price per hour. Between plans
        that are nearly equal in that, waiting decides, or where that is the objective, the end; and
        between plans that are equal in both, the cost, where the prices of all nodes are known.
    evaluations
        How many changes are drawn at most; 0 for the first plan as it is. Large workloads have
        fewer, so that a search looks at 400,000 tasks at most.
    memory_margin
        The memory of a node must be above so many times the data.
    seed
        Of the search.

    Notes
    -----
    Nodes are taken to run as many tasks as fit if those start by themselves (`Rules.sharing` is
    `requests`), else one task at a time: also where k tasks that share a node take k times as long,
    and where pipelines start as wholes.

    O((n + m) c log n) for n tasks, m edges and c classes of nodes that are alike, or O(n c^2) where
    pipelines start as wholes, beside the bounded search.

    References
    ----------
    .. [1] H. Topcuoglu, S. Hariri, M.-Y. Wu: Performance-effective and low-complexity task
       scheduling for heterogeneous computing, IEEE Trans. Parallel Distrib. Syst. 13(3), 2002.
    """

    objective: Objective = "makespan"
    evaluations: int = 6_000
    memory_margin: float = MEMORY_MARGIN
    seed: int = 0

    replans = True

    def __post_init__(self) -> None:
        """Refuse a number that means nothing."""
        if self.evaluations < 0:
            raise ValueError(f"evaluations is at least 0, not {self.evaluations}")

    def place(self, pipelines: Sequence[Pipeline], state: ClusterState) -> Assignment:
        """Return the best plan that is found."""
        nodes = state.cluster.nodes
        check_placeable(pipelines, nodes, self.memory_margin, without=state.fixed)
        check_speeds(state.speeds, pipelines, nodes)
        model = Compiled(pipelines, state, self.memory_margin)
        evaluation = Evaluation(model)
        plans = self._first_plans(model)
        if model.is_shared:
            plans += self._spread(model, pipelines, state)
        outcomes = [evaluation.outcome(plan) for plan in plans]
        score = _score(self.objective, model, outcomes)
        plan = self._improved(evaluation, plans, score)
        outcome = evaluation.outcome(plan)
        order = _order(evaluation, plan, outcome)
        return Assignment(
            {model.keys[task]: nodes[plan.nodes[task]].name for task in order},
            tuple(model.keys[task] for task in order),
            _choices(model, plan, outcome, order),
        )

    def _improved(self, evaluation: Evaluation, plans: Sequence[Plan], score: Score) -> Plan:
        """Return the best plan that is found from first ones."""
        visits = max(1, sum(map(len, evaluation.model.members)))
        budget = min(self.evaluations, _TASK_VISITS // visits)
        each = budget // (2 * len(plans))
        tried = [
            improve(evaluation, plan, score, evaluations=each, seed=self.seed + number)
            for number, plan in enumerate(plans)
        ]
        best = min(tried, key=lambda one: one[1])[0]
        rest = budget - each * len(plans)
        plan, _ = improve(evaluation, best, score, evaluations=rest, seed=self.seed, heat=SETTLING)
        return polish(evaluation, plan, score, visits=_POLISH_VISITS) if self.evaluations else plan

    def _first_plans(self, model: Compiled) -> list[Plan]:
        means = mean_seconds(model)
        ranks = upward_ranks(model, means)
        length = [max((ranks[task] for task in inside), default=0.0) for inside in model.members]
        arrived = sorted(range(len(length)), key=model.arrival.__getitem__)
        shortest = sorted(arrived, key=length.__getitem__)
        orders = [shortest, shortest[::-1], arrived]
        cheapest = self.objective == "cost"
        if model.rules.dispatch == "pipelines":
            return [list_pipelines(model, one, means, cheapest=cheapest) for one in orders]
        urgent = sorted(
            (task for inside in model.members for task in inside),
            key=lambda task: (-ranks[task], task),
        )
        by_pipeline = [task for number in shortest for task in model.members[number]]
        listed = [list_tasks(model, one, cheapest=cheapest) for one in (urgent, by_pipeline)]
        if len(model.members) > 1 and not model.is_shared:
            whole = list_pipelines(model, shortest, means, cheapest=cheapest)
            turn = [whole.priority[number] for number in model.pipeline_of]
            listed.append(Plan(whole.nodes, turn))
        return listed

    def _spread(
        self, model: Compiled, pipelines: Sequence[Pipeline], state: ClusterState
    ) -> list[Plan]:
        """What Kubernetes would do, if nothing runs yet and to find it out takes not long."""
        visits = len(model.keys) ** 2 * (len(model.nodes) + _SPREAD_ASKING)
        if model.holds or state.fixed or visits > _SPREAD_VISITS:
            return []
        usual = KubernetesScheduler(self.memory_margin, self.seed)
        now = [replace(one, arrival_s=0.0) for one in pipelines]
        try:
            report = simulate(now, state.cluster, usual, state.speeds, state.rules)
        except PlacementError:  # some task has memory by this margin, and not by that of the rules
            return []
        nodes, turn = model.initial_nodes(), [0.0] * len(model.keys)
        numbers = {key: number for number, key in enumerate(model.keys)}
        places = {node.name: number for number, node in enumerate(model.nodes)}
        for at, span in enumerate(report.spans):
            task = numbers[span.pipeline, span.task]
            nodes[task], turn[task] = places[span.node], float(at)
        return [Plan(nodes, turn)]


def _score(objective: Objective, model: Compiled, outcomes: Sequence[Outcome]) -> Score:
    """Return what is to become less."""
    count = max(1, len(model.members))
    lengths = [one.end - model.now for one in outcomes]
    least_s = max(min(lengths), 1e-9)
    # Where hardly anything waits, seconds of waiting count as much as seconds of the whole.
    least_waiting = max(min(one.waiting for one in outcomes) / count, 0.1 * least_s)

    def makespan(one: Outcome) -> float:
        return (one.end - model.now) / least_s

    def waiting(one: Outcome) -> float:
        return one.waiting / count / least_waiting

    # Under the rules of the paper nothing is added, as none of its strategies knows prices.
    most_cost = max(one.cost for one in outcomes) if model.is_shared and model.has_prices else 0.0
    price = _PRICE_TIE / most_cost if most_cost else 0.0
    if objective == "makespan":
        return lambda one: makespan(one) + _TIE * waiting(one) + price * one.cost
    if objective == "waiting":
        return lambda one: waiting(one) + _TIE * makespan(one) + price * one.cost
    least_cost = min(one.cost for one in outcomes) or math.inf
    return lambda one: one.cost / least_cost + _TIE * waiting(one)


def _order(evaluation: Evaluation, plan: Plan, outcome: Outcome) -> list[int]:
    """Return tasks in the order in which they should start."""
    model = evaluation.model
    if evaluation.is_whole:
        pipelines = sorted(range(len(model.members)), key=plan.priority.__getitem__)
        return [task for pipeline in pipelines for task in model.members[pipeline]]
    if model.is_shared:  # tasks of no seconds start and end at one time, one after the other
        return list(outcome.order)
    tasks = [task for inside in model.members for task in inside]
    return sorted(tasks, key=lambda task: (outcome.starts[task], task))


def _choices(
    model: Compiled, plan: Plan, outcome: Outcome, order: Sequence[int]
) -> tuple[Choice, ...]:
    """Return how long each task takes, and waits for others where nodes are shared."""
    ends = list(model.fixed_end)
    found = []
    for task in order:
        node = plan.nodes[task]
        seconds = model.duration(task, node, plan.nodes)
        why = f"takes {seconds_text(seconds)} there"
        if model.is_shared:
            ends[task] = outcome.starts[task] + seconds
            wait = outcome.starts[task] - max(
                [model.now, *(ends[source] for source, _ in model.before[task])]
            )
            why += f", after {seconds_text(wait)} of waiting for others" if wait >= LEAST_S else ""
        found.append(Choice(*model.keys[task], model.nodes[node].name, why))
    return tuple(found)
