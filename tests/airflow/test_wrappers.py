"""What the wrappers of processes do, in real DAG runs."""

from __future__ import annotations

import json
import sqlite3
import typing as t
from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import RunOptions, Target
from couler.backends.local import LocalBackend
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Retry
from couler.ir.storage import EnvVar, SecretKey
from couler.ir.values import Template
from couler.ir.workflow import Container, Step, Workflow
from tests.corpus.build import SHELL_IMAGE, flow, given, out, param, parameter, ref, sh
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_outcome import AirflowOutcome
from tests.support.airflow_runs import AirflowRun, Worker

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(2)]

BACKEND = AirflowBackend()
FILES = Target(options={"files_claim": "files"})
KEPT: dict[str, t.Any] = {"outputs": [out("f", "file", "f")]}


def run(workflow: Workflow, airflow: Worker, cluster: FakeCluster) -> AirflowRun:
    text = BACKEND.compile(resolve_defaults(workflow), FILES).to_text()
    return airflow.run(text, workflow.name, cluster=cluster)


def test_a_process_finds_what_it_finds_here(
    airflow: Worker, cluster: FakeCluster, tmp_path: Path
) -> None:
    look = 'cat; ls /proc/self/fd | head -n 3 | tr "\\n" " "; echo "to $COULER_WORK/f" | wc -l'
    words = Template(parts=('cd "$COULER_WORK" && echo ', param("p"), "> f && cat f"))
    action = Container(image=SHELL_IMAGE, command=("sh", "-c"), args=(words,))
    workflow = flow(
        "finds",
        sh("value", look),
        sh("file", f'echo 1 > "$COULER_WORK/f"; {look}', **KEPT),
        Step(name="template", action=action, outputs=(out("result"),)),
        sh(
            "folder",
            'cd "$COULER_WORK"; mkdir -p out/in; echo 2 > out/in/x',
            outputs=[out("d", "directory", "out/")],
        ),
        sh(
            "read",
            'cat "$COULER_INPUT_d/in/x"',
            inputs=[given("d", ref("folder", "d"), "directory")],
        ),
        parameters=[parameter("p", "a word")],
    )
    here = LocalBackend().run(
        resolve_defaults(workflow), options=RunOptions(home=tmp_path / "home", jobs=4)
    )
    done = run(workflow, airflow, cluster)
    there = AirflowOutcome(workflow, done.state, done.states, done.xcoms)
    assert there.status == here.status == "succeeded", done.log
    for name in ("value", "file", "template", "read"):
        assert there.outputs[name]["result"] == here.steps[name].outputs["result"], name


def test_an_interrupt_ends_the_process_and_is_a_failure(
    airflow: Worker, cluster: FakeCluster
) -> None:
    # The first process of the container gets the signal as from a runtime that stops it.
    interrupt = "kill -INT 1; sleep 3600; echo woken"
    fields: dict[str, t.Any] = {"retry": Retry(limit=1, exit_codes=(143,))}
    workflow = flow(
        "interrupted",
        sh("value", interrupt, **fields),
        sh("file", interrupt, **fields, **KEPT),
    )
    done = run(workflow, airflow, cluster)
    assert not done.timed_out
    assert done.states == {("value", -1): "failed", ("file", -1): "failed"}, done.log
    assert done.tries == {("value", -1): 2, ("file", -1): 2}


def test_a_hand_over_that_fails_is_an_error(airflow: Worker, cluster: FakeCluster) -> None:
    block = "ln -s /none/x /airflow/xcom/return.json"
    workflow = flow(
        "handed",
        sh("errors", block, retry=Retry(limit=1, on=("error",))),
        sh("failures", block, retry=Retry(limit=1, on=("failure",))),
        sh("files", block, retry=Retry(limit=1, on=("error",)), **KEPT),
    )
    done = run(workflow, airflow, cluster)
    assert set(done.states.values()) == {"failed"}
    assert done.tries == {("errors", -1): 2, ("failures", -1): 1, ("files", -1): 2}
    assert "couler error: cannot hand the outputs on" in done.logs["errors", -1]


def test_rendered_templates_hide_secrets_of_connections(
    airflow: Worker, cluster: FakeCluster
) -> None:
    password = "pa$$w$(HOME)ord-of-db"
    doubled = password.replace("$", "$$")
    variable = EnvVar(name="PASSWORD", secret=SecretKey(secret="db", key="password"))
    show = 'echo "it is $PASSWORD"; printf %s "$PASSWORD" | wc -c > "$COULER_WORK/n"'
    step = sh("show", show, result=None, env=(variable,), outputs=[out("n", path="n")])
    target = Target(options={"connections": "db"})
    text = BACKEND.compile(resolve_defaults(flow("hidden", step)), target).to_text()
    db = {"conn_type": "generic", "host": "h", "password": password}
    done = airflow.run(text, "hidden", cluster=cluster, connections={"db": db})
    assert done.state == "success", done.log
    assert done.xcoms["show", -1]["n"].strip() == str(len(password))
    (pod,) = done.pods
    assert pod.container("base").env["PASSWORD"] == password
    with sqlite3.connect(airflow.home / "airflow.db") as database:
        query = "SELECT rendered_fields FROM rendered_task_instance_fields WHERE dag_id = 'hidden'"
        ((rendered,),) = database.execute(query).fetchall()
    assert "***" in json.dumps(json.loads(rendered)["env_vars"])
    assert password not in rendered
    assert doubled not in rendered
