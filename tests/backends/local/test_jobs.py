"""Jobs of a cluster on this machine: their local form in their place, or refused."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from couler.backends.base import Target, unsupported_uses
from couler.backends.local import LocalBackend
from couler.errors import InvalidWorkflowError, UnsupportedFeatureError
from couler.ir.policies import Cache, Foreach, Resources, Retry
from couler.ir.serialize import read_yaml
from couler.ir.storage import EnvVar
from couler.ir.workflow import Container, Job, LocalForm, Output, Script, Step
from tests.corpus.build import flow, given, item, ref, sh, value

LOCAL = LocalBackend()
MANIFEST: dict[str, t.Any] = {"apiVersion": "batch/v1", "kind": "Job"}
SCORE = Output(name="score", json_path="{.status.score}")


def job(name: str, script: str, *words: t.Any, outputs: t.Any = (), **fields: t.Any) -> Step:
    form = {key: fields.pop(key) for key in ("inputs", "env", "resources") if key in fields}
    action = Container(image="busybox", command=("sh", "-c", script, "sh"), args=words)
    local = LocalForm(action=action, outputs=tuple(outputs), **form)
    return Step(name=name, action=Job(manifest=MANIFEST, local=local), **fields)


def test_the_local_form_runs_in_its_place() -> None:
    workflow = flow(
        "w",
        sh("data", "echo 20"),
        job(
            "train",
            "echo $(($1 + COULER_INPUT_more + OWN)) > score.txt",
            ref("data"),
            inputs=(given("more", ref("data")),),
            env=(EnvVar(name="OWN", value="2"),),
            resources=Resources(cpu="1"),
            outputs=[Output(name="score", path="score.txt")],
        ).model_copy(update={"outputs": (SCORE,)}),
        sh("tell", 'echo "it is $1"', ref("train", "score")),
    )
    result = LOCAL.run(workflow)
    assert result.status == "succeeded"
    assert result.steps["train"].outputs == {"score": "42"}
    assert result.steps["tell"].outputs == {"result": "it is 42"}


def test_it_has_the_policies_of_the_step(tmp_path: Path) -> None:
    first_fails = f'mkdir {tmp_path}/$1 && exit 1; echo "$1" > score.txt'
    each = job("each", first_fails, item(), outputs=[Output(name="score", path="score.txt")])
    workflow = flow(
        "w",
        each.model_copy(
            update={
                "outputs": (SCORE,),
                "retry": Retry(limit=1),
                "foreach": Foreach(over={"item": value([1, 2])}),
            }
        ),
        job("kept", "date > when", cache=Cache()),
    )
    first = LOCAL.run(workflow)
    assert first.status == "succeeded"
    assert first.steps["each[1]"].attempts == 2
    assert first.steps["each"].outputs == {"score": ["1", "2"]}
    assert first.steps["kept"].status == "succeeded"
    assert LOCAL.run(workflow).steps["kept"].status == "cached"


def test_without_a_local_form_it_is_refused_and_told_how_to_mend_it() -> None:
    bare = Step(name="train", action=Job(manifest=MANIFEST), outputs=(SCORE,))
    with pytest.raises(UnsupportedFeatureError, match="local form") as caught:
        LOCAL.run(flow("w", bare))
    assert {one.code for one in caught.value.diagnostics} == {"CLR301"}


def test_an_output_that_the_local_form_does_not_give_is_refused() -> None:
    lacking = job("train", "true").model_copy(update={"outputs": (SCORE,)})
    workflow = flow("w", lacking, sh("tell", "true", ref("train", "score")))
    [problem] = unsupported_uses(workflow, LOCAL, Target(), {})
    assert "output-json-path" in problem.message
    with pytest.raises(UnsupportedFeatureError):
        LOCAL.run(workflow)


def test_what_the_machine_lacks_for_a_local_form_is_told_before_the_start() -> None:
    no_command = LocalForm(action=Container(image="hello-world"))
    no_program = LocalForm(action=Container(image="a", command=("couler-no-such-program",)))
    too_large = LocalForm(action=Script(image="a", source="x"), resources=Resources(cpu="1000000"))
    forms = {"image": no_command, "program": no_program, "large": too_large}
    workflow = flow(
        "w",
        *(
            Step(name=name, action=Job(manifest=MANIFEST, local=form))
            for name, form in forms.items()
        ),
    )
    found = {problem.step: problem.code for problem in LOCAL.check(workflow, Target())}
    assert found == {"image": "CLR301", "program": "CLR363", "large": "CLR364"}
    with pytest.raises((UnsupportedFeatureError, InvalidWorkflowError)):
        LOCAL.run(workflow)


def test_a_compiled_workflow_keeps_both() -> None:
    workflow = flow("w", job("train", "true"))
    assert read_yaml(LOCAL.compile(workflow, Target()).to_text()) == workflow


def test_a_run_of_a_local_form_can_be_taken_up_again(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    workflow = flow(
        "w",
        job("train", f"echo x >> {tmp_path}/runs"),
        job("test", f"test -e {flag}", depends_on=("train",)),
    )
    failed = LOCAL.run(workflow)
    assert failed.status == "failed"
    flag.touch()
    plan = {step.path: step.verdict for step in LOCAL.plan_retry(failed.run_id, workflow=workflow)}
    assert plan == {"train": "reused", "test": "runs"}
    assert LOCAL.retry(failed.run_id, workflow=workflow).status == "succeeded"
    assert (tmp_path / "runs").read_text() == "x\n"
