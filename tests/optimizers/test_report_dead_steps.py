"""Dead steps are told where that is certain: no alarm for what may have effects or be looked at."""

from __future__ import annotations

import pytest

from couler.ir.artifacts import S3Location
from couler.ir.listing import ListFiles
from couler.ir.policies import Cache
from couler.ir.values import OwnRef
from couler.ir.workflow import ExitHandler, Hook, Http, Output, Step, Suspend, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.passes.report_dead_steps import ReportDeadSteps
from couler.optimizers.pipeline import Pipeline
from tests.corpus.build import compare, flow, given, group, or_else, out, ref, sh


def kept(name: str, *reads: str, **fields: object) -> Step:
    """Return a step that an earlier run can stand for."""
    words = [ref(one) for one in reads]
    return sh(name, "echo", *words, **{"cache": Cache(), **fields})  # type: ignore[arg-type]  # words


def dead(workflow: Workflow, *, only_repeatable: bool = True) -> list[str]:
    planned, log = Pipeline((ReportDeadSteps(only_repeatable),)).run(workflow)
    assert planned is workflow
    [record] = log.records
    assert bool(record.reason) == bool(record.step_reasons)
    return sorted(record.step_reasons)


GIVEN = [out("o", source=ref("a"))]
A = kept("a")


def test_what_leads_to_no_output() -> None:
    steps = (A, kept("b", "a"), kept("c", "b"), kept("d"))
    assert dead(flow("w", *steps, outputs=GIVEN)) == ["b", "c", "d"]
    last = sh("z", "upload", ref("b"), result=None)
    assert dead(flow("w", *steps, last, outputs=GIVEN)) == ["c", "d"]


@pytest.mark.parametrize(
    "step",
    [
        kept("b", cache=None),
        kept(
            "b", outputs=[out("f", "file", path="f").model_copy(update={"at": S3Location(key="f")})]
        ),
        kept("b", daemon=True, result=None),
        kept(
            "b",
            hooks=(
                Hook(
                    when=compare(OwnRef(fact="status"), "==", "failed"),
                    step=sh("h", "mail", result=None),
                ),
            ),
        ),
        Step(name="b", action=Suspend(seconds=1.0)),
        Step(name="b", action=Http(url="http://x", method="POST"), outputs=(Output(),)),
    ],
    ids=["no-cache", "file-outside", "daemon", "hook", "suspend", "post"],
)
def test_a_leaf_that_may_have_effects(step: Step) -> None:
    assert dead(flow("w", A, step, outputs=GIVEN)) == []


@pytest.mark.parametrize(
    "action", [Http(url="http://x"), ListFiles(at=S3Location(key="k"))], ids=["get", "list"]
)
def test_a_leaf_that_only_asks(action: Http | ListFiles) -> None:
    output = Output(type="list" if isinstance(action, ListFiles) else "str")
    step = Step(name="b", action=action, outputs=(output,))
    assert dead(flow("w", A, step, outputs=GIVEN)) == ["b"]


def test_results_that_people_look_at() -> None:
    assert dead(flow("w", A, kept("b"))) == []


def test_steps_that_are_waited_for() -> None:
    after = sh("z", "upload", result=None, depends_on=["b"])
    assert dead(flow("w", A, kept("b"), after, outputs=GIVEN)) == []
    assert dead(flow("w", A, kept("b"), kept("c", depends_on=["b"]), outputs=GIVEN)) == ["b", "c"]


def test_reads_of_exit_handlers() -> None:
    tell = sh("tell", "echo", or_else(ref("b"), "none"))
    handler = ExitHandler(name="h", on="any", steps=(tell, kept("own")))
    assert dead(flow("w", A, kept("b"), outputs=GIVEN, exit_handlers=[handler])) == []


class TestGroups:
    STEPS = (kept("a"), kept("b"), kept("c", "b"))
    OUTPUTS = (out("x", source=ref("a")), out("y", source=ref("c")))

    def group(self, **fields: object) -> Step:
        return group("g", *self.STEPS, **{"outputs": self.OUTPUTS, **fields})  # type: ignore[arg-type]  # fields

    def test_outputs_that_nobody_reads(self) -> None:
        given_out = [out("o", source=ref("g", "x"))]
        assert dead(flow("w", self.group(), outputs=given_out)) == ["g/b", "g/c"]

    def test_of_dead_steps_alone(self) -> None:
        assert dead(flow("w", A, self.group(), outputs=GIVEN)) == ["g"]

    def test_with_a_step_that_may_have_effects(self) -> None:
        effect = group("g", *self.STEPS, sh("e", "upload"), outputs=self.OUTPUTS)
        assert dead(flow("w", A, effect, outputs=GIVEN)) == ["g/a", "g/b", "g/c"]

    def test_whose_success_is_waited_for(self) -> None:
        after = sh("z", "upload", result=None, depends_on=["g"])
        assert dead(flow("w", A, self.group(), after, outputs=GIVEN)) == []

    def test_that_is_the_last_step_of_a_workflow_without_outputs(self) -> None:
        assert dead(flow("w", self.group())) == []

    def test_without_outputs_is_for_its_effects(self) -> None:
        inner = group("g", kept("a"), sh("e", "upload"))
        assert dead(flow("w", A, inner, outputs=GIVEN)) == []

    def test_inputs_are_read_outside(self) -> None:
        inner = group(
            "g", kept("x"), inputs=[given("i", ref("b"))], outputs=[out("o", source=ref("x"))]
        )
        assert dead(flow("w", kept("b"), inner, outputs=[out("o", source=ref("g", "o"))])) == []


def test_steps_that_declare_no_cache_can_be_told_on_request() -> None:
    steps = (A, sh("b", "echo 1"), sh("c", "upload", result=None))
    assert dead(flow("w", *steps, outputs=GIVEN), only_repeatable=False) == ["b"]


def test_reason() -> None:
    context = PassContext()
    steps = (A, *(kept(f"s{number}") for number in range(12)))
    ReportDeadSteps().run(flow("w", *steps, outputs=GIVEN), context)
    assert context.reason == (
        "12 steps are dead: nothing uses the results of s0, s1, s2, s3, s4, s5, s6, s7, s8, s9 "
        "and 2 more. Remove what is not needed, or give its result out."
    )
