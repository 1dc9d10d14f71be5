"""Dead steps are told where that is certain: no alarm for what may have effects or be looked at."""

from __future__ import annotations

import pytest

from couler.ir.artifacts import ListFiles, S3Location
from couler.ir.policies import Cache
from couler.ir.values import OwnRef
from couler.ir.workflow import ExitHandler, Hook, Http, Output, Step, Suspend, Workflow
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

    def test_whose_success_is_waited_for(self) -> None:
        after = sh("z", "upload", result=None, depends_on=["g"])
        assert dead(flow("w", A, self.group(), after, outputs=GIVEN)) == []

    def test_inputs_are_read_outside(self) -> None:
        inner = group(
            "g", kept("x"), inputs=[given("i", ref("b"))], outputs=[out("o", source=ref("x"))]
        )
        assert dead(flow("w", kept("b"), inner, outputs=[out("o", source=ref("g", "o"))])) == []
