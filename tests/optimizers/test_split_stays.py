"""Steps that no run but the first can have."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from couler.ir.sizes import Limits
from couler.ir.verify import verify
from couler.ir.workflow import Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.passes.split import Split
from tests.support.splitting import (
    Engine,
    layers,
    over_limits,
    step,
    unlabelled,
    workflows,
)


def test_steps_that_must_stay_in_the_first_run_do() -> None:
    """What comes before such a step and what comes behind it are not in one run."""
    reads = dict.fromkeys(("s3-2", "s9-6"), "exit handlers read outputs of them")
    limits = Limits(run_bytes=2_500, takes_runs=True)
    engine = Engine(limits, stays=reads)
    context = PassContext(weigh=engine.weigh)
    made = Split().run(Workflow(name="w", steps=layers(10, 7)), context)
    assert not [problem for problem in verify(made) if problem.severity == "error"]
    assert {one.name for one in made.steps if one.part is None} == set(reads)
    runs = {one.part.run for one in made.steps if one.part}
    assert runs == {f"run-{number + 1}" for number in range(len(runs))}
    assert over_limits(made, engine) == []
    told = 'In the first run stay those that must, as exit handlers read outputs of them: "s3-2", '
    assert told + '"s9-6".' in context.reason


def test_nothing_has_runs_where_all_steps_must_stay() -> None:
    workflow = Workflow(name="w", steps=layers(10, 7))
    engine = Engine(
        Limits(run_bytes=2_500, takes_runs=True),
        stays={one.name: "files of them are removed" for one in workflow.steps},
    )
    context = PassContext(weigh=engine.weigh)
    assert Split().run(workflow, context) is workflow
    assert "all steps have to stay in the first run, as files of them are removed" in context.reason


def test_a_daemon_that_a_step_between_parts_from_its_users_stays_too() -> None:
    steps = (
        step("d", daemon=True),
        *(step(f"a{n}", "d") for n in range(10)),
        step("k", "a0"),
        *(step(f"b{n}", "d", "k") for n in range(10)),
    )
    engine = Engine(Limits(run_bytes=2_100, takes_runs=True), stays={"k": "it is read"})
    context = PassContext(weigh=engine.weigh)
    made = Split().run(Workflow(name="w", steps=steps), context)
    assert not [problem for problem in verify(made) if problem.severity == "error"]
    assert {one.name for one in made.steps if one.part is None} == {"d", "k"}
    assert 'as steps of several runs need them as daemons: "d".' in context.reason


@settings(max_examples=15)
@given(workflows(), st.sets(st.integers(0, 39), max_size=4))
def test_any_steps_can_stay(workflow: Workflow, numbers: set[int]) -> None:
    names = [one.name for one in workflow.steps]
    stays = {names[number]: "they must" for number in numbers if number < len(names)}
    engine = Engine(Limits(run_bytes=1_000, takes_runs=True), stays=stays)
    made = Split().run(workflow, PassContext(weigh=engine.weigh))
    assert unlabelled(made) == workflow
    assert not [problem for problem in verify(made) if problem.severity == "error"]
    assert all(one.part is None for one in made.steps if one.name in stays)
    assert over_limits(made, engine) == [] or set(stays) == set(names)
