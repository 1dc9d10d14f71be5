"""Steps are merged only if nobody could tell the results apart."""

from __future__ import annotations

import pytest

from couler.ir.policies import Cache
from couler.ir.values import Literal, OwnRef
from couler.ir.workflow import ExitHandler, Group, Hook, Step, Workflow
from couler.optimizers.passes.merge_common_steps import MergeCommonSteps
from couler.optimizers.pipeline import PassLog, Pipeline
from tests.corpus.build import (
    any_of,
    compare,
    flow,
    given,
    group,
    on_completion,
    on_failure,
    or_else,
    out,
    param,
    ref,
    sh,
)
from tests.optimizers.grouped.flows import names
from tests.support.dry_runs import run_dry
from tests.support.equivalence import assert_same_outcome


def kept(name: str, says: str, *words: object, **fields: object) -> Step:
    """Return a step that declares to give equal outputs for equal work."""
    return sh(name, says, *words, **{"cache": Cache(), **fields})  # type: ignore[arg-type]  # words


def merged(workflow: Workflow) -> tuple[Workflow, PassLog]:
    planned, log = Pipeline((MergeCommonSteps(),)).run(workflow)
    assert_same_outcome(workflow, run_dry(workflow), planned, run_dry(planned), log)
    return planned, log


A, B = kept("a", "echo 1"), kept("b", "echo 1")


def test_readers_of_merged_steps_are_merged_in_turn() -> None:
    steps = [A, B, kept("c", "echo", ref("a")), kept("d", "echo", ref("b"))]
    planned, log = merged(flow("w", *steps, sh("e", "echo", ref("c"), ref("d"))))
    assert names(planned) == ["a", "c", "e"]
    assert log.source_steps("c") == ("c", "d")


def test_the_first_of_the_program_stands_for_all() -> None:
    first = kept("z", "echo", ref("x"))
    steps = [first, kept("x", "echo 1"), kept("y", "echo 1"), kept("a", "echo", ref("y"))]
    planned, _ = merged(flow("w", *steps))
    assert names(planned) == ["z", "x"]


def test_dependencies_by_name() -> None:
    steps = [A, B, sh("c", "true", depends_on=["a", "b"]), sh("d", "true", depends_on=["b"])]
    planned, _ = merged(flow("w", *steps))
    assert [step.depends_on for step in planned.steps] == [(), ("a",), ("a",)]


def test_outputs_and_exit_handlers() -> None:
    tell = sh("tell", "echo", or_else(ref("b"), "none"))
    own = [kept("b", "echo other"), sh("x", "echo", ref("b"))]
    handlers = [
        ExitHandler(name="h", on="any", steps=(tell,)),
        ExitHandler(name="i", on="any", steps=tuple(own)),
    ]
    workflow = flow("w", A, B, outputs=[out("o", source=ref("b"))], exit_handlers=handlers)
    planned, _ = merged(workflow.model_copy(update={"steps": (A, B, sh("c", "true", ref("a")))}))
    assert names(planned) == ["a", "b", "c"], "a is no leaf, b is one"
    last = sh("d", "true", ref("b"))
    planned, _ = merged(
        workflow.model_copy(update={"steps": (A, B, sh("c", "true", ref("a")), last)})
    )
    assert names(planned) == ["a", "c", "d"]
    assert planned.outputs[0].value == ref("a")
    [args] = [step.action.args for step in planned.exit_handlers[0].steps]  # type: ignore[union-attr]  # a container
    assert args[-1] == or_else(ref("a"), "none")
    assert planned.exit_handlers[1].steps == tuple(own), "it has a step of that name itself"


class TestNotMerged:
    @pytest.mark.parametrize(
        "other",
        [
            sh("b", "echo 1"),
            kept("b", "echo 2"),
            kept("b", "echo 1", cache=Cache(salt="x")),
            kept("b", "echo 1", timeout_s=3.0),
            kept("b", "echo 1", depends_on=["x"]),
            kept("b", "echo 1", when=compare("a", "==", "a")),
            kept("b", "echo 1", labels={"team": "ml"}),
            kept("b", "echo 1", display_name="other"),
        ],
        ids=range(8),
    )
    def test_what_differs(self, other: Step) -> None:
        workflow = flow("w", sh("x", "true"), A, other)
        planned, _ = Pipeline((MergeCommonSteps(),)).run(workflow)
        assert planned is workflow

    @pytest.mark.parametrize(
        ("one", "two"), [(1, True), (1, 1.0), ("1", 1), (None, "null"), ([1], [True])]
    )
    def test_literals_of_other_types(self, one: object, two: object) -> None:
        steps = [kept("a", "echo", Literal(value=one)), kept("b", "echo", Literal(value=two))]
        assert names(merged(flow("w", *steps))[0]) == ["a", "b"]

    @pytest.mark.parametrize(
        "entry", [on_failure("b"), on_completion("b"), any_of("b", on_failure("x"))], ids=str
    )
    def test_steps_of_which_more_is_asked_than_success(self, entry: object) -> None:
        after = sh("c", "true", depends_on=["a"]), sh("d", "true", depends_on=[entry])
        planned, _ = merged(flow("w", sh("x", "true"), A, B, *after))
        assert "b" in names(planned)

    def test_a_leaf_with_what_is_none(self) -> None:
        """Where a failure is handled below the one, the other alone fails the run."""
        fails = [kept("a", "exit 1; echo 3"), kept("b", "exit 1; echo 3")]
        after = [
            sh("c", "true", depends_on=["a"]),
            sh("d", "true", depends_on=[on_completion("c")]),
        ]
        workflow = flow("w", *fails, *after)
        assert run_dry(workflow).status == "failed"
        assert run_dry(flow("w", fails[0], *after)).status == "succeeded"
        assert names(merged(workflow)[0]) == ["a", "b", "c", "d"]

    def test_standard_output_that_is_read_of_one_alone(self) -> None:
        steps = [kept("a", "echo 1", result=None), kept("b", "echo 1", result=None)]
        after = [sh("c", "true", depends_on=["a"]), sh("d", "true", ref("b"))]
        assert names(merged(flow("w", *steps, *after))[0]) == ["a", "b", "c", "d"]

    def test_steps_with_hooks(self) -> None:
        running = compare(OwnRef(fact="status"), "==", "running")
        hook = Hook(when=running, step=sh("tell", "true", result=None))
        steps = (kept("a", "echo 1", hooks=(hook,)), kept("b", "echo 1", hooks=(hook,)))
        workflow = flow("w", *steps)
        assert Pipeline((MergeCommonSteps(),)).run(workflow)[0] is workflow

    def test_steps_of_other_scopes(self) -> None:
        planned, _ = merged(flow("w", A, group("g", B)))
        assert names(planned) == ["a", "g"]


class TestGroups:
    @staticmethod
    def group_of(name: str, *steps: Step) -> Step:
        inputs, outputs = [given("x", "1")], [out("o", source=ref("b"))]
        return group(name, *steps, inputs=inputs, outputs=outputs)

    def test_inside(self) -> None:
        steps = (kept("a", "echo", param("x")), kept("b", "echo", param("x")))
        planned, log = merged(flow("w", self.group_of("g", *steps), sh("c", "true", ref("g", "o"))))
        inner = planned.steps[0]
        assert isinstance(inner.action, Group)
        assert [step.name for step in inner.action.steps] == ["a"]
        assert inner.outputs[0].value == ref("a")
        assert log.source_steps("g/a") == ("g/a", "g/b")

    def test_as_a_whole(self) -> None:
        steps = (kept("a", "echo", param("x")), kept("b", "echo", ref("a")))
        twice = (kept("c", "echo", param("x")), *steps)
        groups = [self.group_of("g", *twice), self.group_of("h", *twice)]
        planned, log = merged(flow("w", *groups))
        assert names(planned) == ["g"]
        assert log.source_steps("g") == ("g", "h")
        assert log.source_steps("g/b") == ("g/b", "h/b")
        assert log.source_steps("g/c") == ("g/c", "h/c"), "a is no leaf, c is one"

    def test_with_a_step_that_is_not_declared_to_repeat_itself(self) -> None:
        groups = [self.group_of(name, sh("b", "echo", param("x"))) for name in "gh"]
        assert names(merged(flow("w", *groups))[0]) == ["g", "h"]
