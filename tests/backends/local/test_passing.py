"""Steps that were evicted: run if something reads what they gave, and else passed."""

from __future__ import annotations

import hashlib
import random
import typing as t
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.policies import Cache
from couler.ir.workflow import ExitHandler, Parameter, Step, Workflow
from couler.state import open_database
from couler.state.home import Home
from couler.state.results import RunResult
from couler.state.runs import cache_decisions_of
from tests.corpus.build import compare, flow, given, out, param, parameter, ref, sh
from tests.support.retry_plans import agree, nothing_changes

LOCAL = LocalBackend()
KIB = 1024


@dataclass(frozen=True)
class Bench:
    """A home whose cache has no room for more than 50 KiB, and the count of what ran there."""

    folder: Path

    def make(
        self,
        name: str,
        *of: str,
        kib: int = 100,
        cached: bool = True,
        seconds: float = 0.0,
        **fields: t.Any,
    ) -> Step:
        """Return a step that gives a file of its parameter, of what it reads, and of padding."""
        texts = " ".join(f'"$COULER_INPUT_{one}"' for one in of)
        read = f"cat {texts} | sha256sum | cut -c1-64" if of else "true"
        script = (
            f"echo {name} >> '{self.folder}/ran'; sleep {seconds}; "
            f"{{ echo {name} $1; {read}; head -c {kib * KIB} /dev/zero; }} > f"
        )
        inputs = [given(one, ref(one, "f"), "file") for one in of]
        cache = fields.pop("cache", Cache() if cached else None)
        return sh(
            *(name, script, param(name)),
            result=None,
            inputs=inputs,
            outputs=[out("f", "file", "f")],
            cache=cache,
            **fields,
        )

    def flow(self, *steps: Step, **fields: t.Any) -> Workflow:
        """Return a workflow with a parameter for each step."""
        return flow("w", *steps, parameters=parameters(*(step.name for step in steps)), **fields)

    def run(self, workflow: Workflow, *, policy: str = "lru", kib: int = 50, **changed: str) -> Run:
        """Run with other values of parameters, which must succeed."""
        options = self.options(policy, kib)
        result = LOCAL.run(workflow, parameters=changed, options=options)
        assert result.status == "succeeded", result.message
        return self.done(result)

    def options(self, policy: str = "lru", kib: int = 50, **more: t.Any) -> RunOptions:
        return RunOptions(
            home=self.folder, jobs=2, cache_budget=kib * KIB, cache_policy=policy, **more
        )

    def done(self, result: RunResult) -> Run:
        """Return what became of a run, and what ran since the last one."""
        ran = self.folder / "ran"
        names = ran.read_text().split() if ran.exists() else []
        ran.unlink(missing_ok=True)
        with open_database(Home(self.folder).database_url) as database:
            told = cache_decisions_of(database, result.run_id)
        passed = {one.path for one in told if one.decision == "passed"}
        return Run(result, Counter(names), passed)


@dataclass(frozen=True)
class Run:
    """A run: what started, how often, and what was passed."""

    result: RunResult
    ran: Counter[str]
    passed: set[str]


def parameters(*names: str) -> tuple[Parameter, ...]:
    return tuple(parameter(name, "1") for name in names)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def chain(bench: Bench, **fields: t.Any) -> Workflow:
    """Two large files that the cache cannot keep, a small one that it does, and who reads it."""
    a, b = bench.make("a"), bench.make("b", "a")
    c, end = bench.make("c", "b", kib=1), bench.make("end", "c", kib=1, cached=False)
    return bench.flow(a, b, c, end, **fields)


@pytest.mark.parametrize(
    "need",
    [
        *("reader", "output", "nobody"),
        *(
            pytest.param(need, marks=pytest.mark.slow)
            for need in ("handler", "condition", "foreach")
        ),
    ],
)
def test_what_something_else_needs_runs(bench: Bench, need: str) -> None:
    fields: dict[str, t.Any] = {}
    a, c = bench.make("a"), bench.make("c", "a", kib=1)
    steps = [a, c]
    count = {"inputs": [given("f", ref("a", "f"), "file")]}
    if need == "reader":
        steps.append(sh("reader", "wc -c < $COULER_INPUT_f", **count))
    elif need == "output":
        fields["outputs"] = (out("f", "file", source=ref("a", "f")),)
    elif need == "handler":
        tell = sh("tell", "wc -c < $COULER_INPUT_f", **count)
        fields["exit_handlers"] = (ExitHandler(name="end", on="any", steps=(tell,)),)
    elif need == "condition":
        steps.append(sh("reader", "true", cache=Cache(), when=compare(ref("a", "f"), "!=", "x")))
    elif need == "foreach":
        reader = sh("reader", "wc -c < $COULER_INPUT_f", cache=Cache(), foreach=[1, 2], **count)
        steps.append(reader)
    else:
        steps = [a]
    workflow = bench.flow(*steps, **fields)
    for _ in range(2):
        done = bench.run(workflow)
        assert done.ran["a"] == 1
        assert done.passed == set()
        if need == "output":
            assert Path(str(done.result.outputs["f"])).read_bytes().startswith(b"a 1\n")


def test_an_age_holds_for_what_is_remembered(bench: Bench) -> None:
    a = bench.make("a", cache=Cache(max_age_s=1e-6))
    workflow = bench.flow(a, bench.make("c", "a", kib=1))
    bench.run(workflow)
    again = bench.run(workflow)
    assert (again.ran, again.passed) == ({"a": 1}, set())


def test_a_run_that_passed_steps_is_taken_up_again(bench: Bench) -> None:
    good = chain(bench)
    bench.run(good)
    failing = sh("end", "exit 1", inputs=[given("c", ref("c", "f"), "file")])
    bad = bench.flow(*good.steps[:-1], failing)
    result = LOCAL.run(bad, options=bench.options())
    assert result.status == "failed"
    first = bench.done(result)
    assert (first.ran, first.passed) == ({}, {"a", "b"})
    with nothing_changes(bench.folder):
        planned = LOCAL.plan_retry(result.run_id, workflow=good, options=bench.options())
    retried = bench.done(LOCAL.retry(result.run_id, workflow=good, options=bench.options()))
    agree(good, planned, retried.result)
    assert [step.verdict for step in planned] == ["reused"] * 3 + ["runs"]
    assert retried.result.status == "succeeded"
    assert retried.ran == {"end": 1}
    assert all(retried.result.steps[name].reused for name in "abc")
    again = LOCAL.retry(result.run_id, workflow=good, options=bench.options(), from_step="c")
    assert bench.done(again).ran == {"a": 1, "b": 1, "c": 1, "end": 1}


def test_the_plan_of_a_retry_tells_what_is_passed(bench: Bench) -> None:
    workflow = chain(bench)
    bench.run(workflow)
    unrelated = LOCAL.run(flow("w", sh("unrelated", "true")), options=bench.options()).run_id
    for value, verdicts in (("1", ["cached"] * 3 + ["runs"]), ("2", ["runs"] * 4)):
        arguments: dict[str, t.Any] = {
            "workflow": workflow,
            "options": bench.options(),
            "parameters": {"a": "1", "b": "1", "c": value, "end": "1"},
        }
        with nothing_changes(bench.folder):
            planned = LOCAL.plan_retry(unrelated, **arguments)
        assert [step.verdict for step in planned] == verdicts
        if value == "1":
            assert "nothing that runs reads what was made by" in str(planned[0].reason)
            agree(workflow, planned, LOCAL.retry(unrelated, **arguments))
            unrelated = LOCAL.run(
                flow("w", sh("unrelated", "true")), options=bench.options()
            ).run_id


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))]
)
def test_any_workflow_gives_what_it_gives_without_a_cache(tmp_path: Path, seed: int) -> None:
    """Random graphs and parameters, under any policy."""
    chance = random.Random(seed)
    bench, passed = Bench(tmp_path), 0
    workflow, readers = random_flow(bench, chance)
    values = {step.name: "1" for step in workflow.steps}
    policy = chance.choice(["lru", "next-use", "couler", "all"])
    for _ in range(6):
        for name in chance.sample(sorted(values), chance.choice([0, 1, 1])):
            values[name] = chance.choice("12")
        done = bench.run(workflow, policy=policy, kib=20, **values)
        assert max(done.ran.values(), default=0) <= 1
        shown = Path(str(done.result.outputs["f"])).read_bytes()
        assert shown == content(workflow.steps[-1], workflow, values)
        for name in done.passed:
            states = {done.result.steps[one].status for one in readers[name]}
            assert states == {"cached"}, (name, states)
        passed += len(done.passed)
    assert passed > 0, "the test looks at nothing"


def random_flow(bench: Bench, chance: random.Random) -> tuple[Workflow, dict[str, set[str]]]:
    """Return a workflow of large and small steps, and who reads each of them."""
    names = [f"s{number}" for number in range(7)]
    readers: dict[str, set[str]] = {name: set() for name in names}
    steps = []
    for number, name in enumerate(names):
        of = sorted(chance.sample(names[:number], min(number, chance.choice([1, 1, 2]))))
        if name == names[-1]:
            of = [one for one in names[:number] if not readers[one]]
        for one in of:
            readers[one].add(name)
        kib = 100 if number < 3 else chance.choice([1, 1, 8])
        steps.append(bench.make(name, *of, kib=kib, cached=name != names[-1]))
    outputs = (out("f", "file", source=ref(names[-1], "f")),)
    return bench.flow(*steps, outputs=outputs), readers


def content(step: Step, workflow: Workflow, values: dict[str, str]) -> bytes:
    """Return what a step of `Bench.make` gives, worked out apart."""
    by_name = {one.name: one for one in workflow.steps}
    read = b""
    if step.inputs:
        texts = [content(by_name[one.name], workflow, values) for one in step.inputs]
        read = hashlib.sha256(b"".join(texts)).hexdigest().encode() + b"\n"
    kib = next(kib for kib in (1, 8, 100) if f"head -c {kib * KIB} " in str(step.action))
    return f"{step.name} {values[step.name]}\n".encode() + read + bytes(kib * KIB)


def test_the_default_keeps_what_saves_all_before_it(bench: Bench) -> None:
    """Each run has another last step, as those of who tries parameters: the rest stays passed.

    The last of the files takes longest, whatever else the machine does.
    """
    load, clean = bench.make("load"), bench.make("clean", "load")
    scale = bench.make("scale", "clean", seconds=0.8)
    fit = bench.make("fit", "scale", kib=1)
    workflow = bench.flow(load, clean, scale, fit)
    assert bench.run(workflow, policy="next-use", kib=110).ran.total() == 4
    for parameter_ in "23":
        run = bench.run(workflow, policy="next-use", kib=110, fit=parameter_)
        assert run.ran == {"fit": 1}
        assert run.passed == {"load", "clean"}


@pytest.mark.slow
def test_the_default_learns_which_end_of_a_chain_changes(bench: Bench) -> None:
    """There is room for one of the files, and the last is asked for once."""
    scale = bench.make("scale", "load", seconds=0.8)
    workflow = bench.flow(bench.make("load"), scale, bench.make("fit", "scale"))
    ran = [bench.run(workflow, policy="next-use", kib=110, fit=fit).ran.total() for fit in "12345"]
    assert ran[-2:] == [1, 1]
