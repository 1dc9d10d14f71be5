"""What is decided on together, while others decide as well."""

from __future__ import annotations

import asyncio

from couler.backends.local.ahead import Ahead, Sighting
from couler.backends.local.ends import End
from couler.ir.graph import Graph
from couler.ir.policies import Cache
from couler.ir.semantics.foresight import Foresight, Progress
from couler.ir.semantics.outputs import Instance
from couler.ir.semantics.values import RunFacts, Single, View
from couler.ir.walk import StepPath
from tests.corpus.build import given, ref, sh

STEPS = (
    sh("a", "1", cache=Cache()),
    sh("b", "2", cache=Cache()),
    sh("c", "3", inputs=[given("a", ref("a")), given("b", ref("b"))], cache=Cache()),
)
KNOWN = {
    name: Sighting(name, End("cached", {"result": Single(name, "str")}), is_kept=name == "c")
    for name in "abc"
}


def ahead() -> Ahead:
    def progress(runs: frozenset[str]) -> Progress:
        return Progress(View(RunFacts("r", "")), 0, {}, {}, runs)

    def make() -> Foresight:
        return Foresight(STEPS, Graph.of(STEPS), StepPath(), read=(), shown=())

    return Ahead(StepPath(), make, progress)


def test_what_begins_to_run_meanwhile_is_not_counted_on() -> None:
    made = ahead()
    looked: list[str] = []

    def look(one: Instance, _view: View, _since: int) -> Sighting:
        if not looked:
            made.runs.add("b")
        looked.append(one.step.name)
        return KNOWN[one.step.name]

    asyncio.run(made.foresee("a", KNOWN["a"], look))
    assert looked == ["a", "b", "c", "a"]  # the second time b runs, and c is not known any more
    assert made.known == {}
