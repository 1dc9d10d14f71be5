"""A run of pipelines under a strategy, event by event."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

from couler.cluster.model import Cluster
from couler.errors import PlacementError
from couler.optimizers.placement.compiled import Compiled, next_poll
from couler.optimizers.placement.nodes_in_use import NodesInUse, ReadyTasks
from couler.optimizers.placement.planned_pipelines import course_of
from couler.optimizers.placement.problem import (
    Assignment,
    Choice,
    Pipeline,
    TaskKey,
)
from couler.optimizers.placement.report import PipelineTimes, Report, TaskSpan
from couler.optimizers.placement.speeds import Speeds, check_speeds
from couler.optimizers.placement.strategy import ClusterState, Fixed, PlacementStrategy, Rules


def simulate(
    pipelines: Sequence[Pipeline],
    cluster: Cluster,
    strategy: PlacementStrategy,
    speeds: Speeds,
    rules: Rules | None = None,
    *,
    actual: Speeds | None = None,
) -> Report:
    """Return what a run does."""
    actual = actual or speeds
    check_speeds(speeds, pipelines, cluster.nodes)
    check_speeds(actual, pipelines, cluster.nodes)
    return _Run(pipelines, cluster, strategy, speeds, rules or Rules(), actual).report()


_ARRIVAL, _END, _WINDOW, _POLL = range(4)


class _Run:
    """The state of a run; each method is what happens at an event."""

    def __init__(
        self,
        pipelines: Sequence[Pipeline],
        cluster: Cluster,
        strategy: PlacementStrategy,
        speeds: Speeds,
        rules: Rules,
        actual: Speeds,
    ) -> None:
        self._pipelines = pipelines
        self._strategy = strategy
        self._rules = rules
        self._expected = Compiled(pipelines, ClusterState(cluster, speeds, rules), 0.0)
        self._model = Compiled(pipelines, ClusterState(cluster, actual, rules), 0.0)
        self._tasks = {key: number for number, key in enumerate(self._model.keys)}
        self._places = {node.name: number for number, node in enumerate(cluster.nodes)}
        specs = {(one.name, task.name): task for one in pipelines for task in one.tasks}
        self._specs = [specs[key] for key in self._model.keys]
        self._use = NodesInUse(cluster.nodes, self._specs, rules)
        self._state = ClusterState(cluster, speeds, rules)
        self._now = 0.0
        self._events: list[tuple[float, int, int, int, int]] = []
        self._count = 0
        self._collected: list[int] = []
        self._window_is_open = False
        self._poll_at = -1.0
        self._decisions = 0
        self._last_node: str | None = None
        count = len(self._model.keys)
        self._nodes = [-1] * count
        self._order: list[int] = []
        """Tasks that were assigned, in the order in which they should start."""
        self._ready = ReadyTasks()
        self._start = [-1.0] * count
        self._end = [-1.0] * count
        self._waits = [len(before) for before in self._model.before]
        self._arrived = [False] * len(pipelines)
        self._expected_free: dict[int, float] = {}
        self._running: dict[int, dict[int, float]] = {}
        """Of each node the tasks that run, where these start by themselves, and when each ends."""
        self._load: dict[int, int] = {}
        self._choices: dict[TaskKey, Choice] = {}
        self._started: list[int] = []
        self._is_ready_placed = rules.dispatch == "tasks" and bool(
            getattr(strategy, "places_ready_tasks", False)
        )
        self._replans = bool(getattr(strategy, "replans", False))

    def report(self) -> Report:
        """Run to the end."""
        arrival = self._model.arrival
        for number in sorted(range(len(arrival)), key=arrival.__getitem__):
            self._at(arrival[number], _ARRIVAL, number)
        while self._events:
            now = self._events[0][0]
            self._now = now
            freed = False
            while self._events and self._events[0][0] == now and self._events[0][1] <= _END:
                _, what, _, number, version = heapq.heappop(self._events)
                if what == _ARRIVAL:
                    self._arrive(number)
                elif version < 0 or self._use.is_current(number, version):
                    self._ended(number)
                    freed = True
            if freed and self._rules.dispatch == "tasks":
                self._dispatch()
            elif freed:
                self._ask_again()
            while self._events and self._events[0][0] == now and self._events[0][1] > _END:
                if heapq.heappop(self._events)[1] == _WINDOW:
                    self._place()
                else:
                    self._poll_at = -1.0
                self._dispatch()
        return self._told()

    def _arrive(self, number: int) -> None:
        self._arrived[number] = True
        self._collected.append(number)
        if self._is_ready_placed:
            self._at(self._now, _POLL, -1)
        elif not self._window_is_open:
            self._window_is_open = True
            self._at(self._now + self._rules.window_s, _WINDOW, -1)

    def _place(self) -> None:
        """Ask the strategy for what was collected, and of one that replans for all the rest."""
        self._window_is_open = False
        wanted = self._collected
        self._collected = []
        self._order = [task for task in self._order if self._start[task] < 0]
        if self._replans:
            again = {self._model.pipeline_of[task] for task in self._order}
            wanted = sorted({*wanted, *again}, key=lambda n: (self._model.arrival[n], n))
            self._forget(self._order)
            self._order = []
        found = self._ask([self._pipelines[number] for number in wanted], wanted)
        missing = [
            self._model.keys[task]
            for number in wanted
            for task in self._model.members[number]
            if self._start[task] < 0 and self._model.keys[task] not in found.nodes
        ]
        if missing:
            raise PlacementError(
                "the strategy has left tasks out:", [f"{one}/{other}" for one, other in missing]
            )
        self._order += [self._assign(key, found) for key in found.order]
        order = ((task, self._nodes[task]) for task in self._order)
        self._ready.arrange(order, lambda task: not self._waits[task])

    def _ask(self, pipelines: Sequence[Pipeline], numbers: Sequence[int]) -> Assignment:
        nodes = self._state.cluster.nodes
        fixed = {
            self._model.keys[task]: Fixed(
                nodes[self._nodes[task]].name,
                self._end[task] if self._end[task] >= 0 else self._expected_end(task),
            )
            for number in numbers
            for task in self._model.members[number]
            if self._start[task] >= 0
        }
        state = replace(
            self._state,
            now_s=self._now,
            decisions=self._decisions,
            last_node=self._last_node,
            load={nodes[node].name: count for node, count in self._load.items()},
            requested=self._use.requested(),
            assumed_cpu=self._use.assumed_cpu(),
            fixed=fixed,
            free_s={
                # What should have ended and has not is expected any moment.
                nodes[node].name: max(at, self._now + 1e-6)
                for node, at in self._expected_free.items()
            },
        )
        found = self._strategy.place(pipelines, state)
        self._decisions += 1
        for choice in found.choices:
            self._choices[choice.pipeline, choice.task] = choice
        if found.order:
            self._last_node = found.nodes[found.order[-1]]
        return found

    def _assign(self, key: TaskKey, found: Assignment) -> int:
        task, node = self._tasks[key], self._places[found.nodes[key]]
        self._nodes[task] = node
        self._load[node] = self._load.get(node, 0) + 1
        return task

    def _forget(self, tasks: Sequence[int]) -> None:
        for task in tasks:
            self._load[self._nodes[task]] -= 1
            self._nodes[task] = -1

    def _expected_end(self, task: int) -> float:
        node = self._nodes[task]
        return self._start[task] + self._expected.duration(task, node, self._nodes)

    def _ask_again(self) -> None:
        """Find out at the next poll that nodes are free."""
        at = next_poll(self._now, self._rules.poll_s)
        if at != self._poll_at:
            self._poll_at = at
            self._at(at, _POLL, -1)

    def _dispatch(self) -> None:
        """Start what can start now."""
        if self._rules.dispatch == "pipelines":
            self._start_pipelines()
        elif self._is_ready_placed:
            self._place_ready()
        else:
            self._ready.start(self._begun)

    def _start_pipelines(self) -> None:
        waiting: dict[int, list[int]] = {}
        for task in self._order:
            waiting.setdefault(self._model.pipeline_of[task], []).append(task)
        started: set[int] = set()
        for number, tasks in waiting.items():
            if not self._use.take_all(number, [(task, self._nodes[task]) for task in tasks]):
                continue
            started.add(number)
            course = course_of(self._model, number, self._nodes, tasks)
            expected = course_of(self._expected, number, self._nodes, tasks)
            for task, begin in zip(tasks, course.begins, strict=True):
                self._start[task] = self._now + begin
                seconds = self._model.duration(task, self._nodes[task], self._nodes)
                self._at(self._now + begin + seconds, _END, task)
            self._started += tasks
            for node, held in expected.holds:
                self._expected_free[node] = self._now + held
        if started:
            self._order = [
                task for task in self._order if self._model.pipeline_of[task] not in started
            ]

    def _begun(self, task: int, node: int) -> bool:
        """Start a task if there is room; whether there was."""
        if not self._use.take(task, node):
            return False
        self._begin(task)
        return True

    def _place_ready(self) -> None:
        """Ask for each task that can run, in the order in which pipelines came."""
        for number in self._collected:
            for task in self._model.members[number]:
                if self._start[task] >= 0 or self._waits[task]:
                    continue
                key = self._model.keys[task]
                alone = Pipeline(key[0], (self._specs[task],), (), self._model.arrival[number])
                found = self._ask([alone], [])
                if key in found.nodes and self._use.take(task, self._places[found.nodes[key]]):
                    self._assign(key, found)
                    self._begin(task)

    def _begin(self, task: int) -> None:
        node = self._nodes[task]
        self._start[task] = self._now
        self._started.append(task)
        running = self._running.setdefault(node, {})
        running[task] = self._expected_end(task)
        self._expected_free[node] = max(running.values())
        seconds = self._model.duration(task, node, self._nodes)
        for one, at, version in self._use.run(task, node, seconds, self._now):
            self._at(at, _END, one, version)

    def _ended(self, task: int) -> None:
        node = self._nodes[task]
        self._end[task] = self._now
        self._load[node] -= 1
        self._ready.free(node)
        for after in self._model.after[task]:
            self._waits[after] -= 1
            if not self._waits[after]:
                self._ready.add(after)
        if self._rules.dispatch == "pipelines":
            inside = self._model.members[self._model.pipeline_of[task]]
            if all(self._end[one] >= 0 for one in inside if self._nodes[one] == node):
                self._use.give_back(self._model.pipeline_of[task], node)
                if not self._use.is_used(node):
                    self._expected_free.pop(node, None)
            return
        for one, at, version in self._use.stop(task, node, self._now):
            self._at(at, _END, one, version)
        running = self._running[node]
        del running[task]
        if running:
            self._expected_free[node] = max(running.values())
        else:
            self._expected_free.pop(node, None)

    def _at(self, time: float, what: int, number: int, version: int = -1) -> None:
        self._count += 1
        heapq.heappush(self._events, (time, what, self._count, number, version))

    def _told(self) -> Report:
        names = [node.name for node in self._state.cluster.nodes]
        keys = self._model.keys
        late = ["/".join(key) for key, end in zip(keys, self._end, strict=True) if end < 0]
        if late:
            raise PlacementError("tasks never found room on their nodes:", late)
        order = sorted(self._started, key=lambda task: (self._start[task], task))
        spans = tuple(
            TaskSpan(*keys[task], names[self._nodes[task]], self._start[task], self._end[task])
            for task in order
        )
        return Report(
            tuple(self._times(number, pipeline) for number, pipeline in enumerate(self._pipelines)),
            spans,
            tuple(self._choices[keys[task]] for task in order if keys[task] in self._choices),
        )

    def _times(self, number: int, pipeline: Pipeline) -> PipelineTimes:
        spans = sorted((self._start[one], self._end[one]) for one in self._model.members[number])
        arrival = pipeline.arrival_s
        if not spans:
            return PipelineTimes(pipeline.name, arrival, arrival, arrival, 0.0)
        waiting, until = 0.0, arrival
        for begin, end in spans:
            waiting += max(0.0, begin - until)
            until = max(until, end)
        return PipelineTimes(pipeline.name, arrival, spans[0][0], until, waiting)
