"""What need not run although it is not kept: on random graphs, run in any order."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from hypothesis import given, strategies as st

from couler.ir.graph import Graph
from couler.ir.policies import Cache
from couler.ir.semantics.foresight import Foresight, Progress
from couler.ir.semantics.outputs import RUNS, Instance
from couler.ir.semantics.values import Outputs, RunFacts, Single, View
from couler.ir.values import StepRef
from couler.ir.walk import StepPath
from couler.ir.workflow import Container, Input, Output, Step

How: t.TypeAlias = t.Literal["kept", "remembered", "unknown"]


@dataclass(frozen=True)
class Known:
    outputs: Outputs
    is_kept: bool
    since: int = RUNS


def step_of(name: str, of: tuple[str, ...], *, cached: bool) -> Step:
    inputs = tuple(Input(name=one, value=StepRef(step=one, output="f")) for one in of)
    action = Container(image="busybox", command=("true",))
    cache = Cache() if cached else None
    return Step(name=name, action=action, inputs=inputs, outputs=(Output(name="f"),), cache=cache)


class Scope:
    """A scope as an engine runs it, with what an earlier run gave of each step.

    What a step gives is told by what it reads, except for those that are not deterministic. What
    is known of a step is known by what it reads, as of a key.
    """

    def __init__(
        self, of: list[tuple[int, ...]], hows: list[How], shown: set[int], loose: set[int]
    ) -> None:
        self.names = [f"s{number}" for number in range(len(of))]
        self.of = {
            name: [self.names[one] for one in before]
            for name, before in zip(self.names, of, strict=True)
        }
        self.how = dict(zip(self.names, hows, strict=True))
        self.shown = {self.names[one] for one in shown}
        self.loose = {self.names[one] for one in loose}
        steps = [step_of(name, tuple(self.of[name]), cached=True) for name in self.names]
        graph = Graph.of(steps)
        self.foresight = Foresight(steps, graph, StepPath(), read=(), shown=self.shown)
        self.earlier: dict[str, str] = {}
        for name in self.names:
            self.earlier[name] = self.made(name, self.earlier)
        self.ended: dict[str, str] = {}
        self.passed: set[str] = set()
        self.ran: set[str] = set()

    def made(self, name: str, given: t.Mapping[str, str]) -> str:
        return f"{name}({','.join(given[one] for one in self.of[name])})"

    def look(self, instance: Instance, view: View, since: int) -> Known | None:
        name = instance.step.name
        given = {one: t.cast("Single", view.steps[one]["f"]).text for one in self.of[name]}
        same = all(given[one] == self.earlier[one] for one in self.of[name])
        if not same or self.how[name] == "unknown":
            return None
        outputs = {"f": Single(self.earlier[name], "str")}
        return Known(outputs, self.how[name] == "kept")

    def progress(self) -> Progress:
        steps = {name: {"f": Single(text, "str")} for name, text in self.ended.items()}
        states = dict.fromkeys(self.ended, "cached")
        view = View(RunFacts("r", ""), steps=steps)
        return Progress(view, 0, states, dict.fromkeys(self.ended, RUNS), ())  # type: ignore[arg-type]  # states

    def run(self, order: t.Callable[[list[str]], str]) -> None:
        """Run the steps one after the other, each as its turn comes."""
        known: dict[str, Known] = {}
        while len(self.ended) < len(self.names):
            ready = [
                name
                for name in self.names
                if name not in self.ended and all(one in self.ended for one in self.of[name])
            ]
            name = order(ready)
            instance = Instance(step_of(name, (), cached=True), StepPath() / name, ())

            def find(one: Instance, view: View, since: int) -> Known | None:
                return known.get(one.step.name) or self.look(one, view, since)

            found = find(instance, self.progress().view, 0)
            if found is not None and not found.is_kept and name not in known:
                ends = self.foresight.foresee(self.progress(), find).ends
                if name in ends:
                    known.update(ends)
                else:
                    found = None
            if found is None:
                missing = [one for one in self.of[name] if one in self.passed]
                assert not missing, f"{name} runs, and reads {missing}, whose files are gone"
                self.ran.add(name)
                again = "'" if name in self.loose else ""
                self.ended[name] = self.made(name, self.ended) + again
            else:
                self.ended[name] = t.cast("Single", found.outputs["f"]).text
                if not found.is_kept:
                    self.passed.add(name)


@st.composite
def scopes(draw: st.DrawFn, *, is_loose: bool) -> Scope:
    size = draw(st.integers(1, 9))
    of = [
        tuple(sorted(draw(st.sets(st.integers(0, number - 1), max_size=3)))) if number else ()
        for number in range(size)
    ]
    hows: list[How] = draw(
        st.lists(
            st.sampled_from(t.cast("list[How]", ["kept", "remembered", "remembered", "unknown"])),
            min_size=size,
            max_size=size,
        )
    )
    some = st.sets(st.integers(0, size - 1), max_size=2)
    return Scope(of, hows, draw(some), draw(some) if is_loose else set())


@given(st.data())
def test_nothing_that_runs_or_is_shown_reads_what_is_gone(data: st.DataObject) -> None:
    """Whatever the order of the steps, and whether or not they give the same again."""
    scope = data.draw(scopes(is_loose=True))
    scope.run(lambda ready: data.draw(st.sampled_from(ready)))
    assert scope.shown.isdisjoint(scope.passed)


@given(st.data())
def test_a_step_runs_only_if_it_is_needed_or_a_reader_cannot_be_told(data: st.DataObject) -> None:
    """A straight model: what must run at all, and what waits for it, may have others run."""
    scope = data.draw(scopes(is_loose=False))
    scope.run(lambda ready: data.draw(st.sampled_from(ready)))
    readers = {name: [it for it in scope.names if name in scope.of[it]] for name in scope.names}
    needed: dict[str, bool] = {}
    for name in reversed(scope.names):  # what must run if all that is needed is known beforehand
        is_read = any(needed[it] for it in readers[name])
        needed[name] = scope.how[name] == "unknown" or (
            scope.how[name] == "remembered"
            and (is_read or not readers[name] or name in scope.shown)
        )
    must = {name for name in scope.names if needed[name]}
    assert must <= scope.ran
    after = set(must)
    for name in scope.names:
        if after.intersection(scope.of[name]):
            after.add(name)
    for name in scope.ran - must:  # for a reader of it that comes after what runs
        assert any(it in after or it in scope.ran for it in readers[name])


def test_what_may_change_with_a_step_that_runs_is_not_counted_on() -> None:
    """s1 runs for s3, which is new, and could give s2 another key, which then reads s0."""
    of: list[tuple[int, ...]] = [(), (), (0, 1), (1,)]
    hows: list[How] = ["remembered", "remembered", "kept", "unknown"]
    for loose in (set(), {1}):
        scope = Scope(of, hows, set(), loose)
        scope.run(lambda ready: ready[0])
        assert scope.ran >= {"s0", "s1", "s3"}
    scope = Scope(of, hows, set(), set())
    scope.run(lambda ready: "s1" if "s1" in ready else ready[0])
    assert (scope.passed, scope.ran) == ({"s0"}, {"s1", "s3"})
