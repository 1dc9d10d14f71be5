"""Requests, pauses and jobs as Airflow itself runs them, from workflows that were compiled."""

from __future__ import annotations

import base64
import time
import typing as t
import urllib.parse
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.airflow.lower import lowered
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.ir.pods import PodContainer
from couler.ir.policies import Foreach, Retry
from couler.ir.storage import EnvVar, SecretKey
from couler.ir.values import (
    Compare,
    ItemRef,
    Literal,
    ManifestValue,
    OrElse,
    OwnRef,
    StepRef,
    Template,
)
from couler.ir.workflow import (
    Container,
    ContainerSet,
    Http,
    Input,
    Job,
    Output,
    Step,
    Suspend,
    Workflow,
)
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.fakes.kubernetes.operators import train
from tests.fakes.kubernetes.store import CONFIG_MAPS, SECRETS, Resource
from tests.support import airflow_stack
from tests.support.airflow_outcome import AirflowOutcome
from tests.support.airflow_runs import LIMIT_S, AirflowRun, Worker
from tests.support.airflow_stack import AirflowStack
from tests.support.http_server import QuietHandler, serving
from tests.support.request_cases import bad_ends, echoing, requests

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(2)]

TRAINING = Resource("kubeflow.org", "v1", "pytorchjobs")
SECRET = "geheim-4711"


class Site:
    """A server of this machine that keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        site = self

        class Handler(QuietHandler):
            def do_GET(self) -> None:  # noqa: N802 - a name of the base class
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                before = [one for one in site.asked if one[1] == self.path]
                site.asked.append((self.command, self.path, dict(self.headers), body))
                is_late = self.path == "/third" and len(before) < 2
                self.send_response({"/gone": 404}.get(self.path, 503 if is_late else 200))
                answer = body or f'{{"path": "{self.path}"}}'.encode()
                self.send_header("Content-Length", str(len(answer)))
                self.send_header("X-State", "done")
                self.end_headers()
                self.wfile.write(answer)

            do_POST = do_GET  # noqa: N815 - a name of the base class

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"

    def of(self, path: str) -> list[tuple[str, str, dict[str, str], bytes]]:
        return [one for one in self.asked if one[1] == path]


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    with serving(site.http):
        yield site


def compiled(workflow: Workflow) -> str:
    return AirflowBackend().compile(resolve_defaults(workflow), Target()).to_text()


def outcome(workflow: Workflow, run: AirflowRun) -> AirflowOutcome:
    return AirflowOutcome(resolve_defaults(workflow), run.state, run.states, run.xcoms)


def request(name: str, url: t.Any, **fields: t.Any) -> Step:
    about = {key: fields.pop(key) for key in tuple(fields) if key in Http.model_fields}
    return Step(name=name, action=Http(url=url, **about), **fields)


def echo(name: str, *words: t.Any, **fields: t.Any) -> Step:
    action = Container(image="alpine:3", command=("echo",), args=words)
    return Step(name=name, action=action, **fields)


def test_requests(airflow: Worker, cluster: FakeCluster, site: Site) -> None:
    nasty = "{{ a }} {% b %} $(c) $$ é\r\n"
    token = EnvVar(name="Authorization", secret=SecretKey(secret="site", key="token"))
    none = EnvVar(name="X-None", secret=SecretKey(secret="none", key="token", optional=True))
    state = Compare(left=OwnRef(fact="header", name="x-state"), op="==", right=Literal(value="x"))
    headers = (token, none)
    name = Template(parts=(f"{site.address}/each/", ItemRef()))
    workflow = Workflow(
        name="requests",
        steps=(
            request(
                "send", f"{site.address}/send", method="POST", body=nasty, headers=(token, none)
            ),
            request("pass-on", f"{site.address}/on", method="POST", body=StepRef(step="send")),
            request("bytes", f"{site.address}/bytes", method="POST", body_base64="AAH/"),
            request("each", name, foreach=Foreach(over={"item": Literal(value=("a", "b"))})),
            echo("show", StepRef(step="each")),
            request("third", f"{site.address}/third", retry=Retry(limit=2)),
            request("gone", f"{site.address}/gone"),
            request("after", f"{site.address}/after", depends_on=("gone",)),
            request("expected", f"{site.address}/gone", success_codes=(404,)),
            request("refused", f"{site.address}/refused", success_condition=state),
        ),
    )
    cluster.secret("site", {"token": SECRET})
    run = airflow.run(compiled(workflow), "requests", cluster=cluster)
    states = outcome(workflow, run).states
    failed = {"gone", "refused"}
    assert {name for name, one in states.items() if one == "failed"} == failed, run.log
    assert states["after"] == "omitted"
    assert {one for name, one in states.items() if name not in (*failed, "after")} == {"succeeded"}
    [(_, _, headers, body)] = site.of("/send")
    assert headers["Authorization"] == SECRET
    assert "X-None" not in headers
    assert body.decode() == nasty
    assert site.of("/on")[0][3].decode() == nasty
    assert site.of("/bytes")[0][3] == b"\0\1\xff"
    assert len(site.of("/third")) == 3
    assert site.of("/after") == []
    [pod] = run.pods_of("show")
    assert pod.container("base").stdout == (
        '["{\\"path\\": \\"/each/a\\"}","{\\"path\\": \\"/each/b\\"}"]\n'
    )
    assert SECRET not in run.log
    assert SECRET not in repr(run.all_xcoms)
    assert "X-None" in repr(run.rendered["send", -1])
    assert SECRET not in repr(run.rendered)


def test_values_of_the_run_decide_whether_requests_succeed(airflow: Worker) -> None:
    with echoing() as url:
        workflow = requests(url)
        run = airflow.run(compiled(workflow), "requests")
    assert bad_ends(outcome(workflow, run).states) == [], run.log


@pytest.mark.parametrize("text", [f"{SECRET}\n", f" {SECRET}", f"{SECRET}\r\nX: y", f"{SECRET}€"])
def test_a_secret_that_is_no_header_is_not_shown(
    airflow: Worker, cluster: FakeCluster, site: Site, text: str
) -> None:
    token = EnvVar(name="Authorization", secret=SecretKey(secret="site", key="token"))
    step = request("send", f"{site.address}/send", headers=(token,))
    cluster.secret("site", {"token": text})
    run = airflow.run(
        compiled(Workflow(name="no-header", steps=(step,))), "no-header", cluster=cluster
    )
    assert run.state == "failed"
    assert "header Authorization is no text of a header" in run.logs["send", -1]
    assert site.asked == []
    assert SECRET not in run.log
    assert "€" not in run.log
    assert SECRET not in repr(run.rendered)


def test_pauses(airflow: Worker) -> None:
    workflow = Workflow(
        name="pauses",
        steps=(
            Step(name="wait", action=Suspend(seconds=1.5)),
            Step(name="long", action=Suspend(seconds=100)),
            Step(name="long-cut", action=Suspend(seconds=100), timeout_s=90),
            Step(
                name="each",
                action=Suspend(seconds=0.1),
                foreach=Foreach(over={"item": Literal(value=(1, 2))}),
            ),
            Step(name="cut", action=Suspend(seconds=600), timeout_s=1),
            Step(name="after", action=Suspend(seconds=0.1), depends_on=("cut",)),
        ),
    )
    text = compiled(workflow)
    for seconds in (100, 90):
        assert f"poke_interval={seconds}" in text
        text = text.replace(f"poke_interval={seconds}", "poke_interval=2")
    run = airflow.run(text, "pauses")
    assert outcome(workflow, run).states == {
        "wait": "succeeded",
        "long": "succeeded",
        "long-cut": "failed",
        "each": "succeeded",
        "each[0]": "succeeded",
        "each[1]": "succeeded",
        "cut": "failed",
        "after": "omitted",
    }, run.log


def training(command: str) -> dict[str, t.Any]:
    words = ["sh", "-c", command]
    pod = {"containers": [{"name": "pytorch", "image": "any", "command": words}]}
    replicas = {"Master": {"replicas": 1, "template": {"spec": pod}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"generateName": "train-"},
        "spec": {"pytorchReplicaSpecs": replicas},
    }


def job(name: str, manifest: dict[str, t.Any], **fields: t.Any) -> Step:
    about = {key: fields.pop(key) for key in tuple(fields) if key in Job.model_fields}
    if manifest["kind"] == "PyTorchJob":
        status = "status.replicaStatuses.Master"
        about.setdefault("success_condition", f"{status}.succeeded > 0")
        about.setdefault("failure_condition", f"{status}.failed > 0")
    return Step(name=name, action=Job(manifest=manifest, **about), **fields)


def indexed() -> dict[str, t.Any]:
    container = {"name": "part", "image": "any", "command": ["true"]}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": "parts-"},
        "spec": {
            "completionMode": "Indexed",
            "completions": None,
            "parallelism": 3,
            "template": {"spec": spec},
        },
    }


def test_a_run_is_in_the_namespace_of_its_target(
    airflow: Worker, cluster: FakeCluster, site: Site
) -> None:
    secret = {"metadata": {"name": "site"}, "data": {"token": base64.b64encode(b"t").decode()}}
    cluster.store.create(SECRETS, "team", secret)
    token = EnvVar(name="Authorization", secret=SecretKey(secret="site", key="token"))
    mark = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mark"}}
    workflow = Workflow(
        name="of-a-team",
        steps=(
            echo("pod", "a"),
            request("ask", f"{site.address}/ask", headers=(token,)),
            job("mark", mark),
        ),
    )
    target = Target(namespace="team")
    text = AirflowBackend().compile(resolve_defaults(workflow), target).to_text()
    run = airflow.run(text, "of-a-team", cluster=cluster)
    assert run.state == "success", run.log
    assert [pod.found["metadata"]["namespace"] for pod in run.pods] == ["team"]
    assert [headers["Authorization"] for _, _, headers, _ in site.of("/ask")] == ["t"]
    made = cluster.objects(CONFIG_MAPS)
    assert [one["metadata"]["namespace"] for one in made] == ["team"]


def test_jobs(airflow: Worker, tmp_path: Path) -> None:
    count = ManifestValue(path=("spec", "completions"), value=StepRef(step="count"), type="int")
    mark = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "mark"},
        "data": {"text": "{{ a }} \x7f\u2028 \U0001f600"},
    }
    workflow = Workflow(
        name="jobs-of-all-kinds",
        steps=(
            echo("count", "3"),
            job(
                "parts",
                indexed(),
                values=(count,),
                success_condition="status.succeeded == 3",
                outputs=(Output(name="done", json_path="{.status.succeeded}", type="int"),),
            ),
            echo("show", StepRef(step="parts", output="done")),
            job(
                "train",
                training("exit 0"),
                set_owner_reference=True,
                outputs=(
                    Output(
                        name="why",
                        json_path='{.status.conditions[?(@.type=="Succeeded")].reason}',
                    ),
                ),
            ),
            job("fails", training("exit 1"), set_owner_reference=True, retry=Retry(limit=1)),
            job("late", training("sleep 3600"), timeout_s=1),
            job("mark", mark, action="apply"),
            job(
                "look",
                {**mark, "data": {}},
                action="get",
                outputs=(Output(name="text", json_path="{.data.text}"),),
                depends_on=("mark",),
            ),
            job("unmark", {**mark, "data": {}}, action="delete", depends_on=("look",)),
        ),
    )
    with FakeCluster(tmp_path / "cluster", operators={TRAINING: train}) as cluster:
        text = compiled(workflow).replace("poke_interval=30", "poke_interval=1")
        run = airflow.run(text, workflow.name, cluster=cluster)
        assert cluster.objects(TRAINING) == []
    found = outcome(workflow, run)
    assert {name for name, one in found.states.items() if one != "succeeded"} == {
        "fails",
        "late",
    }, run.log
    assert found.status == "failed"
    assert found.outputs["train"] == {"why": "JobSucceeded"}
    assert found.outputs["parts"] == {"done": 3}
    assert found.outputs["look"] == {"text": mark["data"]["text"]}
    assert run.tries["fails", -1] == 2
    assert "did not end within 1" in run.logs["late", -1]
    assert run.states["remove-resources", -1] == "success"
    [pod] = run.pods_of("show")
    assert pod.container("base").stdout == "3\n"


def test_containers_of_a_set(airflow: Worker, cluster: FakeCluster) -> None:
    def container(name: str, script: str, *before: str) -> PodContainer:
        command = ("sh", "-c", script)
        return PodContainer(name=name, image="alpine:3", command=command, depends_on=before)

    keep = 'echo $COULER_INPUT_word >"$COULER_WORK/n"'
    good = ContainerSet(
        containers=(
            container("main", f'cat "$COULER_WORK/b"; {keep}', "b"),
            container("a", 'echo from a >"$COULER_WORK/a"'),
            container("b", 'cat "$COULER_WORK/a" >"$COULER_WORK/b"; echo and b', "a"),
        )
    )
    bad = ContainerSet(containers=(container("main", "true", "a"), container("a", "exit 3")))
    number = Output(name="n", path="n")
    word = Input(name="word", value=Literal(value="hi"))
    workflow = Workflow(
        name="sets",
        steps=(
            Step(name="good", action=good, inputs=(word,), outputs=(Output(), number)),
            Step(name="bad", action=bad),
            echo("show", StepRef(step="good"), StepRef(step="good", output="n")),
        ),
    )
    run = airflow.run(compiled(workflow), "sets", cluster=cluster)
    found = AirflowOutcome(lowered(resolve_defaults(workflow)), run.state, run.states, run.xcoms)
    assert found.states == {"good": "succeeded", "bad": "failed", "show": "succeeded"}, run.log
    assert found.outputs["good"] == {"result": "from a", "n": "hi"}
    [pod] = run.pods_of("bad")
    assert pod.container("a").exit_code == 3


def ask(name: str, **fields: t.Any) -> Step:
    return Step(name=name, action=Suspend(message=f"{name}?"), **fields)


@pytest.mark.timeout(1800)
def test_people_answer(cluster: FakeCluster, tmp_path: Path) -> None:
    if reason := airflow_stack.obstacle():
        pytest.skip(reason)
    rate, default = StepRef(step="form", output="rate"), Literal(value=0)
    number = OrElse(value=StepRef(step="form", output="n"), default=default)
    asked = (Output(name="rate", type="float"), Output(name="n", type="int", default=3))
    workflow = Workflow(
        name="people",
        suspended=True,
        steps=(
            ask("approved"),
            ask("rejected"),
            ask("late", timeout_s=2),
            ask("form", outputs=asked),
            echo("after", depends_on=("rejected",)),
            echo("show", rate, number),
        ),
    )
    answers: dict[str, dict[str, t.Any]] = {
        "may-start": {"chosen_options": ["Approve"]},
        "approved": {"chosen_options": ["Approve"]},
        "rejected": {"chosen_options": ["Reject"]},
        "form": {"chosen_options": ["OK"], "params_input": {"rate": 0.5, "n": 4}},
    }
    with AirflowStack(tmp_path / "airflow", cluster) as stack:
        stack.upload(compiled(workflow), "people")
        stack.wait_visible("people")
        stack.unpause("people")
        run_id = stack.trigger("people")
        path = f"/dags/people/dagRuns/{urllib.parse.quote(run_id)}"
        limit = time.monotonic() + LIMIT_S
        while answers and time.monotonic() < limit:
            for one in stack.call("GET", f"{path}/hitlDetails?limit=100")["hitl_details"]:
                task = one["task_instance"]["task_id"]
                if task in answers and stack.is_put_off("people", task):
                    place = f"{path}/taskInstances/{task}/-1/hitlDetails"
                    stack.call("PATCH", place, answers.pop(task))
            time.sleep(0.3)
        states = {one["task_id"]: one["state"] for one in stack.instances("people", run_id)}
        assert answers == {}, states
        stack.wait("people", run_id)
        run = stack.read("people", run_id)
    assert outcome(workflow, run).states == {
        "approved": "succeeded",
        "rejected": "failed",
        "late": "failed",
        "form": "succeeded",
        "after": "omitted",
        "show": "succeeded",
    }, run.log
    [pod] = run.pods_of("show")
    assert pod.container("base").stdout == "0.5 4\n"
