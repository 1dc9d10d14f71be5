"""Better plans by small changes, tried one after the other, and what a plan comes to."""

from __future__ import annotations

import heapq
import math
import random
import typing as t
from collections.abc import Callable, Sequence

from couler.optimizers.placement.compiled import Amount, Compiled
from couler.optimizers.placement.first_plans import Plan
from couler.optimizers.placement.planned_pipelines import Course, Outcome, course_of, run_pipelines

Score: t.TypeAlias = Callable[[Outcome], float]
"""What a plan is worth: the less, the better."""

SEARCHING = (0.1, 1e-4)
SETTLING = (0.02, 1e-6)
"""By how much of its score a plan may become worse in one change, at first and at last: where a
good plan is searched for, and where the best that is near one is."""

_STAGES = 5
"""How often the search goes back to the best plan, less one."""

_OF_LAST = 0.3
"""The share of changes that are of the pipeline which ends last."""

_EQUAL = 1e-12
"""Scores that differ by a smaller share are equal: sums are off by what rounding does."""


class Evaluation:
    """What plans come to; of pipelines as wholes, the courses of those that stay are kept."""

    def __init__(self, model: Compiled) -> None:
        self.model = model
        self.is_whole = model.rules.dispatch == "pipelines"
        self._courses: dict[tuple[int, tuple[int, ...]], Course] = {}

    def outcome(self, plan: Plan) -> Outcome:
        """Return what a plan comes to."""
        if not self.is_whole:
            return run_tasks(self.model, plan.nodes, plan.priority)
        courses = [self._course(number, plan.nodes) for number in range(len(self.model.members))]
        order = sorted(range(len(courses)), key=plan.priority.__getitem__)
        return run_pipelines(self.model, order, courses)

    def outcome_with(self, plan: Plan, task: int, node: int) -> Outcome:
        """Return what a plan comes to with one task elsewhere; it is kept as it is."""
        before, plan.nodes[task] = plan.nodes[task], node
        found = self.outcome(plan)
        plan.nodes[task] = before
        return found

    def _course(self, pipeline: int, nodes: Sequence[int]) -> Course:
        key = pipeline, tuple([nodes[task] for task in self.model.members[pipeline]])
        found = self._courses.get(key)
        if found is None:
            found = self._courses[key] = course_of(self.model, pipeline, nodes)
        return found


def improve(
    evaluation: Evaluation,
    plan: Plan,
    score: Score,
    *,
    evaluations: int,
    seed: int,
    heat: tuple[float, float] = SEARCHING,
) -> tuple[Plan, float]:
    """Return the best plan that is found from a first one, and its score."""
    moves = _Moves(evaluation, seed)
    outcome = evaluation.outcome(plan)
    now = best = score(outcome)
    current, found = plan.copy(), plan.copy()
    if not moves.tasks:
        return found, best
    last = outcome.last
    for number in range(evaluations):
        if number and number % max(1, evaluations // _STAGES) == 0:
            current, now = found.copy(), best
        nodes, priority = moves.change(current, last)
        if not nodes and not priority:
            continue
        outcome = evaluation.outcome(current)
        value = score(outcome)
        warmth = heat[0] * (heat[1] / heat[0]) ** (number / evaluations) * abs(best)
        if value <= now or moves.draws.random() < math.exp((now - value) / max(warmth, 1e-300)):
            now, last = value, outcome.last
            if value < best:
                best, found = value, current.copy()
            continue
        for task, node in nodes:
            current.nodes[task] = node
        for one, before in priority:
            current.priority[one] = before
    return found, best


def polish(evaluation: Evaluation, plan: Plan, score: Score, *, visits: int) -> Plan:
    """Return a plan that no other node of any one task makes better."""
    tasks = [task for inside in evaluation.model.members for task in inside]
    found = plan.copy()
    if len(tasks) ** 2 > visits:
        return found
    around = _Around(evaluation.model, found, tasks, visits)
    value = score(evaluation.outcome(found))
    left, settled, at = visits, 0, 0
    while settled < len(tasks):
        task = tasks[at % len(tasks)]
        places = around.places(task)
        left -= len(tasks) * len(places)
        if left < 0:
            break
        at, settled = at + 1, settled + 1
        node, there = _best_of(evaluation, found, score, task, places, value)
        if node != found.nodes[task]:
            found.nodes[task], value, settled = node, there, 1
            around.look()
    return found


def idlest_nodes(model: Compiled, nodes: Sequence[int], tasks: Sequence[int]) -> list[list[int]]:
    """Return the two nodes of each class whose tasks take the fewest seconds."""
    busy = [0.0] * len(model.nodes)
    for task in tasks:
        busy[nodes[task]] += model.duration(task, nodes[task], nodes)
    return [heapq.nsmallest(2, inside, key=busy.__getitem__) for inside in model.classes]


def _best_of(
    evaluation: Evaluation,
    plan: Plan,
    score: Score,
    task: int,
    places: Sequence[int],
    value: float,
) -> tuple[int, float]:
    """Return the best node of a task, that on which it is if no other is better, and the score."""
    model = evaluation.model
    best = plan.nodes[task]
    for node in places:
        there = score(evaluation.outcome_with(plan, task, node))
        margin = _EQUAL * abs(value)
        is_thriftier = model.class_thrift(node) < model.class_thrift(best)
        if there < value - margin or (there <= value + margin and is_thriftier):
            best, value = node, there
    return best, value


class _Around:
    """The nodes on which each task of a plan is tried."""

    def __init__(self, model: Compiled, plan: Plan, tasks: Sequence[int], visits: int) -> None:
        self._model = model
        self._plan = plan
        self._tasks = tasks
        self._held = {hold.node for hold in model.holds}
        self._nodes: list[list[int]] = []
        """Numbers of the nodes of each class."""
        for is_few in (False, True):
            self._is_few = is_few
            self.look()
            if len(tasks) * sum(len(self.places(task)) for task in tasks) <= visits:
                return
        self._nodes = [[] for _ in model.classes]

    def look(self) -> None:
        """Look anew at what nodes have to do."""
        if self._is_few:
            self._nodes = idlest_nodes(self._model, self._plan.nodes, self._tasks)
            return
        used = self._held.union(self._plan.nodes)
        self._nodes = []
        for inside in self._model.classes:
            idle = next((node for node in inside if node not in used), None)
            busy = [node for node in inside if node in used]
            self._nodes.append(busy if idle is None else [*busy, idle])

    def places(self, task: int) -> list[int]:
        """Return the nodes on which a task is tried: others than that on which it is."""
        here, row = self._plan.nodes[task], self._model.seconds[task]
        return [
            node
            for seconds, inside in zip(row, self._nodes, strict=True)
            if seconds < math.inf
            for node in inside
            if node != here
        ]


_Undo: t.TypeAlias = tuple[list[tuple[int, int]], list[tuple[int, float]]]


class _Moves:
    """Changes of a plan, each drawn by chance; what they return takes them back."""

    def __init__(self, evaluation: Evaluation, seed: int) -> None:
        self.draws = random.Random(seed)
        self.tasks = [task for inside in evaluation.model.members for task in inside]
        self._model = evaluation.model
        self._is_whole = evaluation.is_whole
        self._pipelines = [n for n, inside in enumerate(self._model.members) if inside]
        self._able = {
            task: [c for c, seconds in enumerate(self._model.seconds[task]) if seconds < math.inf]
            for task in self.tasks
        }

    def change(self, plan: Plan, last: int) -> _Undo:
        """Change a plan in which some pipeline ends last."""
        pipeline = -1
        if last >= 0 and self.draws.random() < _OF_LAST:
            pipeline = last
        inside = self.tasks if pipeline < 0 else self._model.members[pipeline]
        kind = self.draws.random()
        if kind < 0.4:
            task = self.draws.choice(inside)
            return self._put(plan, [task], self._node_for(task, plan)), []
        if kind < 0.6:
            if pipeline < 0:
                pipeline = self.draws.choice(self._pipelines)
            tasks = self._model.members[pipeline]
            return self._put(plan, tasks, self._node_for(self.draws.choice(tasks), plan)), []
        if self._is_whole:
            return [], self._swap(plan, self._pipelines, [pipeline] if pipeline >= 0 else None)
        return [], self._swap(plan, self.tasks, inside)

    def _node_for(self, task: int, plan: Plan) -> int:
        """Draw a node: one that a neighbour of the task uses, or any of some class."""
        if self.draws.random() < 0.3:
            near = [
                plan.nodes[one]
                for one in (
                    *(source for source, _ in self._model.before[task]),
                    *self._model.after[task],
                )
                if plan.nodes[one] >= 0
            ]
            if near:
                return self.draws.choice(near)
        return self.draws.choice(self._model.classes[self.draws.choice(self._able[task])])

    def _put(self, plan: Plan, tasks: Sequence[int], node: int) -> list[tuple[int, int]]:
        number = self._model.class_of[node]
        undo = []
        for task in tasks:
            if plan.nodes[task] != node and self._model.seconds[task][number] < math.inf:
                undo.append((task, plan.nodes[task]))
                plan.nodes[task] = node
        return undo

    def _swap(
        self, plan: Plan, all_of: Sequence[int], some: Sequence[int] | None
    ) -> list[tuple[int, float]]:
        """Let one of some and one of all change places in the order."""
        one, other = self.draws.choice(some or all_of), self.draws.choice(all_of)
        first, second = plan.priority[one], plan.priority[other]
        if first == second:
            return []
        if self._is_whole or self.draws.random() < 0.5:
            plan.priority[one], plan.priority[other] = second, first
            return [(one, first), (other, second)]
        # All tasks of a pipeline are shifted, so that it goes before or after another one.
        inside = self._model.members[self._model.pipeline_of[one]]
        undo = [(task, plan.priority[task]) for task in inside]
        for task in inside:
            plan.priority[task] += second - first
        return undo


_START, _FREE = -1, -2

_NOTHING: Amount = (0.0, 0.0, 0.0, 0.0)


def run_tasks(model: Compiled, nodes: Sequence[int], priority: Sequence[float]) -> Outcome:
    """Return what comes of tasks that start once their inputs are there and their node has room."""
    starts = [-1.0] * len(nodes)
    order: list[int] = []
    waits = [0] * len(nodes)
    room = _Room(model)
    events: list[tuple[float, int, int]] = []  # when what ends, becomes ready, or is given back
    running = [0] * len(model.members)
    since = [max(model.now, arrival) for arrival in model.arrival]
    waiting = [max(0.0, model.now - arrival) for arrival in model.arrival]
    end, cost, last = model.now, 0.0, -1
    until = [model.now] * len(model.nodes)
    has_fixed = any(node is not None for node in model.fixed_node)

    for inside in model.members:
        for task in inside:
            at = model.now
            for source, _ in model.before[task]:
                if model.fixed_node[source] is None:
                    waits[task] += 1
                else:
                    at = max(at, model.fixed_end[source])
            if not waits[task]:
                events.append((at, _START, task))
    for number, hold in enumerate(model.holds):
        room.hold(hold.node, hold.amount)
        events.append((hold.until, _FREE, number))
    heapq.heapify(events)
    while events:
        now = events[0][0]
        touched: dict[int, None] = {}
        while events and events[0][0] == now:
            _, what, number = heapq.heappop(events)
            if what == _FREE:
                hold = model.holds[number]
                room.give_back(hold.node, hold.amount)
                touched[hold.node] = None
            elif what == _START:
                room.wait(nodes[number], priority[number], number)
                touched[nodes[number]] = None
            else:
                node, pipeline = nodes[number], model.pipeline_of[number]
                room.give_back(node, model.asked[number])
                touched[node] = None
                end, last = now, pipeline
                running[pipeline] -= 1
                since[pipeline] = now
                for after in model.after[number]:
                    waits[after] -= 1
                    if not waits[after]:
                        at = _ready(model, after, now) if has_fixed else now
                        if at > now:
                            heapq.heappush(events, (at, _START, after))
                        else:
                            room.wait(nodes[after], priority[after], after)
                            touched[nodes[after]] = None
        for node in touched:
            while (task := room.take(node)) >= 0:
                pipeline = model.pipeline_of[task]
                seconds = model.duration(task, node, nodes)
                starts[task] = now
                order.append(task)
                if not running[pipeline]:
                    waiting[pipeline] += max(0.0, now - since[pipeline])
                running[pipeline] += 1
                begun = max(now, until[node])
                until[node] = max(until[node], now + seconds)
                paid = seconds if begun == now else until[node] - begun
                cost += model.price[node] * paid
                heapq.heappush(events, (now + seconds, 0, task))
    return Outcome(end, sum(waiting), cost / 3600, starts, last, order)


class _Room:
    """What is left of nodes, and which tasks wait for it."""

    def __init__(self, model: Compiled) -> None:
        self._asked = model.asked
        self._shapes = model.shapes
        self._most = model.most
        self._used: dict[int, Amount] = {}
        self._holders: dict[int, int] = {}
        self._waiting: dict[int, dict[int, list[tuple[float, int]]]] = {}
        """Of each node, the tasks that wait for it, by their shape."""

    def wait(self, node: int, priority: float, task: int) -> None:
        """Let a task wait for a node."""
        queues = self._waiting.setdefault(node, {})
        heapq.heappush(queues.setdefault(self._shapes[task], []), (priority, task))

    def hold(self, node: int, amount: Amount) -> None:
        """Take an amount of a node."""
        used = self._used.get(node, _NOTHING)
        self._used[node] = (
            used[0] + amount[0],
            used[1] + amount[1],
            used[2] + amount[2],
            used[3] + amount[3],
        )
        self._holders[node] = self._holders.get(node, 0) + 1

    def give_back(self, node: int, amount: Amount) -> None:
        """Give an amount of a node back."""
        used = self._used[node]
        self._used[node] = (
            used[0] - amount[0],
            used[1] - amount[1],
            used[2] - amount[2],
            used[3] - amount[3],
        )
        self._holders[node] -= 1

    def take(self, node: int) -> int:
        """Let the next task that fits have its amount, and return it; -1 if there is none."""
        queues = self._waiting.get(node)
        if not queues:
            return -1
        best: list[tuple[float, int]] | None = None
        if not self._holders.get(node):  # that it can run there at all was found before
            best = min(queues.values(), key=lambda queue: queue[0])
        else:
            used, most = self._used[node], self._most[node]
            for queue in queues.values():
                if best is not None and queue[0] > best[0]:
                    continue
                asked = self._asked[queue[0][1]]
                if (  # as `has_room`, which to call takes longer than to look
                    used[0] + asked[0] <= most[0]
                    and used[1] + asked[1] <= most[1]
                    and used[2] + asked[2] <= most[2]
                    and used[3] + asked[3] <= most[3]
                ):
                    best = queue
        if best is None:
            return -1
        task = heapq.heappop(best)[1]
        if not best:
            del queues[self._shapes[task]]
        self.hold(node, self._asked[task])
        return task


def _ready(model: Compiled, task: int, now: float) -> float:
    """Return when all that a task reads has ended, of which some may be fixed and still run."""
    for source, _ in model.before[task]:
        if model.fixed_node[source] is not None:
            now = max(now, model.fixed_end[source])
    return now
