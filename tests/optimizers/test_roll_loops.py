"""Calls become items only where each of them runs, and ends, as before."""

from __future__ import annotations

import pytest

import couler
from couler.ir.storage import EnvVar
from couler.ir.values import Literal
from couler.ir.workflow import Group, Step, Workflow
from couler.optimizers.passes.roll_loops import RollLoops
from couler.optimizers.pipeline import PassLog, Pipeline
from tests.corpus.build import (
    any_of,
    compare,
    flow,
    given,
    group,
    item,
    on_failure,
    param,
    ref,
    sh,
)
from tests.optimizers.grouped.flows import names
from tests.support.dry_runs import run_dry
from tests.support.equivalence import assert_same_outcome


def say(name: str, *words: object, **fields: object) -> Step:
    return sh(name, "echo", *words, **{"result": None, **fields})  # type: ignore[arg-type]  # words


def three(*words: object, **fields: object) -> tuple[Step, ...]:
    return tuple(say(f"say-{n}", *words, f"w{n}", **fields) for n in range(3))


def rolled(workflow: Workflow, at_least: int = 3) -> tuple[Workflow, PassLog]:
    planned, log = Pipeline((RollLoops(at_least),)).run(workflow)
    assert_same_outcome(workflow, run_dry(workflow), planned, run_dry(planned), log)
    return planned, log


def test_states_are_told_by_the_names_of_the_calls() -> None:
    steps = [say(f"s-{n}", f"exit 1 {n}") for n in range(8)]
    workflow = flow("w", *steps, say("last", depends_on=[step.name for step in steps]))
    planned, _ = rolled(workflow)
    assert {state for state, _ in run_dry(workflow).steps.values()} == {
        "succeeded",
        "failed",
        "omitted",
    }
    assert names(planned) == ["s", "last"]
    assert planned.steps[1].depends_on == ("s",)


def test_calls_that_are_skipped_together() -> None:
    planned, _ = rolled(flow("w", *three(when=compare("a", "==", "b"))))
    assert run_dry(planned).steps == {"say": ("skipped", {})}


def test_inputs_and_variables() -> None:
    steps = [
        say(
            f"say-{n}",
            inputs=[given("n", n, "int"), given("same", "x")],
            env=[EnvVar(name="WORD", value=f"w{n}"), EnvVar(name="SAME", value="x")],
        )
        for n in range(3)
    ]
    [step] = rolled(flow("w", *steps))[0].steps
    assert step.foreach is not None
    assert step.foreach.over == {
        "input_n": Literal(value=[0, 1, 2]),
        "env_0": Literal(value=["w0", "w1", "w2"]),
    }
    assert [one.value for one in step.inputs] == [item("input_n"), Literal(value="x")]


def test_what_is_read_stays_where_it_is_the_same() -> None:
    planned, _ = rolled(flow("w", sh("first", "echo"), *three(ref("first"))))
    assert names(planned) == ["first", "say"]


def test_layers_of_calls() -> None:
    first = three()
    second = [say(f"next-{n}", f"w{n}", depends_on=[one.name for one in first]) for n in range(3)]
    planned, _ = rolled(flow("w", *first, *second))
    assert [(step.name, step.depends_on) for step in planned.steps] == [
        ("say", ()),
        ("next", ("say",)),
    ]


def test_names() -> None:
    steps = [say("x", "1"), say("b-y", "2"), say("q", "3")]
    assert names(rolled(flow("w", *steps))[0]) == ["x-calls"]
    taken = sh("say", "true")
    assert names(rolled(flow("w", *three(), taken))[0]) == ["say-calls", "say"]
    numbered = [say("hello", "1"), say("hello-2", "2"), say("hello-3", "3")]
    assert names(rolled(flow("w", *numbered))[0]) == ["hello-calls"]
    also = sh("hello-calls", "true")
    assert names(rolled(flow("w", *numbered, also))[0]) == ["hello-calls-2", "hello-calls"]


def test_inside_of_groups() -> None:
    planned, log = rolled(flow("w", group("g", *three(param("x")), inputs=[given("x", "1")])))
    assert isinstance(planned.steps[0].action, Group)
    assert [step.name for step in planned.steps[0].action.steps] == ["say"]
    assert log.source_steps("g/say") == ("g/say-0", "g/say-1", "g/say-2")


class TestNotRolled:
    def stays(self, *steps: Step) -> None:
        workflow = flow("w", sh("first", "echo"), *steps)
        assert Pipeline((RollLoops(),)).run(workflow)[0] is workflow

    @pytest.mark.parametrize("entry", [on_failure("say-1"), any_of("say-1", "first")], ids=str)
    def test_of_one_of_them_more_is_asked(self, entry: object) -> None:
        self.stays(*three(), sh("after", "true", depends_on=[entry]))

    def test_outputs(self) -> None:
        self.stays(*three(result="str"))
        self.stays(*three(), sh("after", "echo", *(ref(f"say-{n}") for n in range(3))))

    def test_what_differs_beyond_literals(self) -> None:
        self.stays(*three()[:2], say("say-2", ref("first")))
        self.stays(*three()[:2], say("say-2", "w2", timeout_s=3.0))
        self.stays(*three()[:2], say("say-2", "w2", "w3"))

    @pytest.mark.parametrize("value", [5, True, 1.5, None, ["x"]])
    def test_literals_of_other_kinds(self, value: object) -> None:
        self.stays(*three()[:2], say("say-2", Literal(value=value)))

    def test_lists_that_are_too_large_to_travel(self) -> None:
        long = [say(f"say-{n}", "x" * 30_000 + str(n)) for n in range(3)]
        self.stays(*long)


def test_calls_of_a_typed_step() -> None:
    @couler.step
    def show(number: int, word: str = "x") -> None:
        assert number != len(word)

    with couler.Workflow("calls") as wf:
        for number in range(4):
            show(number)
    workflow = wf.to_ir()
    planned, _ = rolled(workflow)
    [step] = planned.steps
    assert (step.name, step.foreach and len(step.foreach.over)) == ("show-calls", 1)
