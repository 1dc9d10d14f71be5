"""Jobs with a local form: as jobs, as processes, and what verification says of them."""

from __future__ import annotations

import typing as t

import pytest

from couler.ir.defaults import leave_out_local_forms, resolve_defaults, use_local_forms
from couler.ir.policies import Resources, Retry
from couler.ir.storage import EnvVar
from couler.ir.values import StepRef
from couler.ir.verify import verify
from couler.ir.walk import predecessors, steps_by_path
from couler.ir.workflow import (
    Container,
    Defaults,
    ExitHandler,
    Job,
    LocalForm,
    Output,
    Script,
    Step,
)
from tests.corpus.build import flow, given, group, ref, sh
from tests.support.verification import codes, only

MANIFEST: dict[str, t.Any] = {"apiVersion": "batch/v1", "kind": "Job"}
PHASE = Output(name="phase", json_path="{.status.phase}")


def _tuples(fields: dict[str, t.Any]) -> dict[str, t.Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }


def job(name: str, local: LocalForm | None, **fields: t.Any) -> Step:
    return Step(name=name, action=Job(manifest=MANIFEST, local=local), **_tuples(fields))


def echo(*words: t.Any, **fields: t.Any) -> LocalForm:
    action = Container(image="a", command=("echo",), args=words)
    return LocalForm(action=action, **_tuples(fields))


def test_the_local_form_takes_the_place_of_the_job_and_keeps_its_policies() -> None:
    form = echo(
        ref("data"),
        inputs=[given("x", ref("data"))],
        outputs=[Output(name="phase", path="phase")],
        env=[EnvVar(name="A", value="a")],
        resources=Resources(cpu="1"),
        working_dir="/srv",
    )
    train = job("train", form, outputs=[PHASE], retry=Retry(limit=2), depends_on=["data"])
    [_, step] = use_local_forms(flow("w", sh("data", "echo 1"), train)).steps
    assert step == Step(
        name="train",
        action=form.action,
        inputs=form.inputs,
        outputs=form.outputs,
        env=form.env,
        resources=form.resources,
        working_dir="/srv",
        retry=Retry(limit=2),
        depends_on=("data",),
    )


def test_without_its_local_form_a_job_waits_for_the_same_steps() -> None:
    form = echo(ref("a"), ref("c"), inputs=[given("b", ref("b"))])
    steps = [sh(name, "true") for name in "abc"]
    workflow = flow("w", *steps, job("train", form, depends_on=["c"]))
    bare = leave_out_local_forms(workflow)
    train = bare.steps[-1]
    assert train.action == Job(manifest=MANIFEST)
    assert train.depends_on == ("c", "b", "a")
    for rewritten in (bare, use_local_forms(workflow)):
        assert set(predecessors(rewritten.steps[-1])) == {"a", "b", "c"}


def test_groups_and_exit_handlers_are_searched() -> None:
    workflow = flow("w", group("g", job("a", echo("x")))).model_copy(
        update={"exit_handlers": (ExitHandler(name="h", on="any", steps=(job("b", echo("y")),)),)}
    )
    kinds = {path: step.action.kind for path, step in steps_by_path(use_local_forms(workflow))}
    assert kinds == {"g": "group", "g/a": "container", "exit:h/b": "container"}
    kinds = {
        path: step.action.kind for path, step in steps_by_path(leave_out_local_forms(workflow))
    }
    assert kinds == {"g": "group", "g/a": "job", "exit:h/b": "job"}


def test_a_workflow_without_local_forms_stays_the_same_object() -> None:
    workflow = flow("w", sh("a", "true"), job("b", None))
    assert use_local_forms(workflow) is workflow
    assert leave_out_local_forms(workflow) is workflow


@pytest.mark.parametrize("own", [None, Resources(memory="1Gi")])
def test_defaults_reach_the_local_form(own: Resources | None) -> None:
    defaults = Defaults(
        resources=Resources(cpu="1"), env=(EnvVar(name="A", value="1"), EnvVar(name="B", value="2"))
    )
    form = echo("x", env=[EnvVar(name="A", value="own")], resources=own)
    workflow = flow("w", job("train", form), defaults=defaults)
    first = use_local_forms(resolve_defaults(workflow)).steps[0]
    assert first.env == (EnvVar(name="B", value="2"), EnvVar(name="A", value="own"))
    assert first.resources == (own or Resources(cpu="1"))
    assert use_local_forms(resolve_defaults(workflow)) == resolve_defaults(
        use_local_forms(workflow)
    )


def test_what_a_local_form_reads_is_verified() -> None:
    wrong = only(flow("w", job("train", echo(StepRef(step="dta")), outputs=[PHASE])))
    assert wrong.code == "CLR160"


@pytest.mark.parametrize(
    ("form", "code", "words"),
    [
        (LocalForm(action=Container(image="a b", command=("x",))), "CLR408", "blanks"),
        (LocalForm(action=Script(image="a", source="x", command=())), "CLR409", "interpreter"),
        (echo("x", outputs=[Output(name="phse", path="p")]), "CLR169", 'Did you mean "phase"'),
        (echo("x", outputs=[Output(name="phase", type="int")]), "CLR169", "declared int"),
        (echo("x", outputs=[PHASE]), "CLR169", "json_path"),
        (echo("x", resources=Resources(cpu="much")), "CLR401", "cpu"),
        (echo("x", env=[EnvVar(name="A=B", value="")]), "CLR413", "A=B"),
        (echo("x", inputs=[given("a b", ref("data"))]), "CLR150", "a b"),
    ],
)
def test_a_wrong_local_form_is_reported(form: LocalForm, code: str, words: str) -> None:
    found = only(flow("w", sh("data", "true"), job("train", form, outputs=[PHASE])))
    assert (found.code, found.step) == (code, "train")
    assert words in found.message


def test_a_right_one_is_not() -> None:
    form = echo(ref("data"), outputs=[Output(name="phase")], inputs=[given("x", ref("data"))])
    workflow = flow("w", sh("data", "true"), job("train", form, outputs=[PHASE]))
    assert codes(workflow) == []
    assert [str(problem) for problem in verify(use_local_forms(workflow))] == []
