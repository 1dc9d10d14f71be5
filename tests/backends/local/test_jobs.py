"""Jobs of a cluster on this machine: their local form in their place, or refused."""

from __future__ import annotations

import typing as t

import pytest

from couler.backends.base import Target
from couler.backends.local import LocalBackend
from couler.errors import InvalidWorkflowError, UnsupportedFeatureError
from couler.ir.policies import Resources
from couler.ir.storage import EnvVar
from couler.ir.workflow import Container, Job, LocalForm, Output, Script, Step
from tests.corpus.build import flow, given, ref, sh

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
