"""The emulated cluster, as a client of the Kubernetes API sees it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.kubernetes.cluster import FakeCluster
from tests.fakes.kubernetes.container import sandbox_obstacle
from tests.fakes.kubernetes.operators import train
from tests.fakes.kubernetes.pod import Pod
from tests.fakes.kubernetes.store import JOBS, PODS, Resource

pytestmark = pytest.mark.skipif(sandbox_obstacle() is not None, reason=str(sandbox_obstacle()))

PYTORCH_JOBS = Resource("kubeflow.org", "v1", "pytorchjobs")
LIMIT_S = 600.0
FOLDER = "/api/v1/namespaces/default/pods"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[FakeCluster]:
    with FakeCluster(tmp_path, operators={PYTORCH_JOBS: train}) as cluster:
        yield cluster


def request(
    cluster: FakeCluster, method: str, path: str, body: Any = None, kind: str = "application/json"
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(cluster.server.address, timeout=LIMIT_S)
    with contextlib.closing(connection):
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {"Content-Type": kind})
        answer = connection.getresponse()
        text = answer.read()
        if answer.headers["Content-Type"] == "application/json":
            return answer.status, json.loads(text)
        return answer.status, text.decode()


def shell(name: str, script: str, **more: Any) -> dict[str, Any]:
    container = {"name": "base", "image": "any", "command": ["sh", "-c", script]}
    spec = {"restartPolicy": "Never", "containers": [container]}
    for key in [key for key in more if key in ("env", "envFrom", "volumeMounts", "image")]:
        container[key] = more.pop(key)
    labels = more.pop("labels", {})
    return {"metadata": {"name": name, "labels": labels}, "spec": {**spec, **more}}


def start(cluster: FakeCluster, *pods: dict[str, Any]) -> None:
    for pod in pods:
        code, answer = request(cluster, "POST", FOLDER, pod)
        assert code == 201, answer


def end_of(cluster: FakeCluster, name: str) -> dict[str, Any]:
    return cluster.wait(PODS, name, "phase", "Succeeded", "Failed", limit_s=LIMIT_S)


def logs(cluster: FakeCluster, name: str, query: str = "") -> str:
    code, text = request(cluster, "GET", f"{FOLDER}/{name}/log?container=base{query}")
    assert code == 200, text
    return str(text)


def test_a_pod_runs_to_its_end_and_can_be_found_patched_and_deleted(cluster: FakeCluster) -> None:
    start(cluster, shell("p", "echo said; exit 3", labels={"a": "1"}))
    status = end_of(cluster, "p")
    assert status["phase"] == "Failed"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
    patch = {"metadata": {"labels": {"checked": "True"}}}
    assert request(cluster, "PATCH", f"{FOLDER}/p", patch, "application/merge-patch+json")[0] == 200
    strategic = "application/strategic-merge-patch+json"
    assert request(cluster, "PATCH", f"{FOLDER}/p", {"a": [1]}, strategic)[0] == 415
    _, found = request(cluster, "GET", f"{FOLDER}?labelSelector=a%3D1%2Cchecked%21%3DFalse")
    assert [pod["metadata"]["name"] for pod in found["items"]] == ["p"]
    events = f"{FOLDER[:-4]}events?fieldSelector=involvedObject.name%3Dp"
    reasons = [one["reason"] for one in request(cluster, "GET", events)[1]["items"]]
    assert reasons == ["Scheduled", "Started"]
    assert request(cluster, "DELETE", f"{FOLDER}/p")[0] == 200
    assert request(cluster, "GET", f"{FOLDER}/p")[0] == 404


def test_the_api_refuses_values_of_other_types_and_names_that_are_none(
    cluster: FakeCluster,
) -> None:
    def with_container(**fields: Any) -> dict[str, Any]:
        pod = shell("p", "true")
        pod["spec"]["containers"][0] |= fields
        return pod

    wrong = {
        "array into Go struct field spec.containers.env.value": with_container(
            env=[{"name": "A", "value": [1]}]
        ),
        "number into Go struct field spec.containers.args": with_container(args=[1]),
        "spec.containers.command": with_container(command="sh"),
        "Invalid value: 'a_b'": with_container(name="a_b"),
        "Not found: 'v'": with_container(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
        "Invalid value: 'p_q'": shell("p_q", "true"),
        "metadata.labels": shell("p", "true", labels={"a": "b c"}),
    }
    for message, pod in wrong.items():
        code, answer = request(cluster, "POST", FOLDER, pod)
        assert code in (400, 422), message
        assert message in answer["message"]
    assert cluster.pods() == []


def test_a_log_can_be_followed_and_has_the_time_of_each_line(cluster: FakeCluster) -> None:
    start(cluster, shell("p", "echo a; sleep 1; echo b >&2; sleep 0.1; printf 'c\\rd'"))
    cluster.wait(PODS, "p", "phase", "Running", limit_s=LIMIT_S)
    lines = logs(cluster, "p", "&follow=true&timestamps=true").split("\n")
    times, texts = zip(*(line.split(" ", 1) for line in lines), strict=True)
    assert texts == ("a", "b", "c\rd")
    assert times[0] < times[1] <= times[2]
    assert times[0].endswith("000Z")
    assert len(times[0]) == len("2026-01-01T00:00:00.000000000Z")
    assert logs(cluster, "p", "&tailLines=1") == "c\rd"
    assert logs(cluster, "p", f"&sinceTime={times[1]}") == "b\nc\rd"


def job(name: str, script: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"template": shell("", script), **spec}}


def end_of_job(cluster: FakeCluster, name: str) -> dict[str, Any]:
    limit = time.monotonic() + LIMIT_S
    while time.monotonic() < limit:
        status = cluster.store.get(JOBS, "default", name)["status"]
        if status.get("conditions"):
            return status
        time.sleep(0.02)
    raise TimeoutError(name)


def test_a_job_gives_up_after_its_limit_of_failures(cluster: FakeCluster) -> None:
    cluster.create(JOBS, {**job("j", "exit 1", backoffLimit=1), "status": {}})
    status = end_of_job(cluster, "j")
    [condition] = status["conditions"]
    assert (condition["type"], condition["reason"]) == ("Failed", "BackoffLimitExceeded")
    assert status["failed"] == 2
    cluster.create(JOBS, {**job("k", "sleep 3600", activeDeadlineSeconds=1), "status": {}})
    assert end_of_job(cluster, "k")["conditions"][0]["reason"] == "DeadlineExceeded"
    refused = job("l", "true", podFailurePolicy={"rules": []})
    code, answer = request(cluster, "POST", "/apis/batch/v1/namespaces/default/jobs", refused)
    assert (code, answer["message"]) == (422, "not emulated: podFailurePolicy of a job")


def test_a_pod_ends_at_its_deadline_and_when_it_is_deleted(tmp_path: Path) -> None:
    """Who waits for the grace that the pods have waits for longer than the limit."""
    long = {"terminationGracePeriodSeconds": 600}
    with FakeCluster(tmp_path, grace_s=600) as cluster:
        at_once = {"terminationGracePeriodSeconds": 0}
        start(cluster, shell("late", "sleep 3600", activeDeadlineSeconds=1, **at_once))
        start(cluster, shell("deaf", "sleep 600", **long))
        start(cluster, shell("kind", "trap 'exit 0' TERM; echo set; sleep 600 & wait", **long))
        limit = time.monotonic() + LIMIT_S
        cluster.wait(PODS, "deaf", "phase", "Running", limit_s=LIMIT_S)
        cluster.wait(PODS, "kind", "phase", "Running", limit_s=LIMIT_S)
        while logs(cluster, "kind") != "set\n":
            assert time.monotonic() < limit
        for name, grace in (("kind", ""), ("deaf", "?gracePeriodSeconds=0")):
            assert request(cluster, "DELETE", f"{FOLDER}/{name}{grace}")[0] == 200
            while request(cluster, "GET", f"{FOLDER}/{name}")[0] != 404:
                assert time.monotonic() < limit
        assert end_of(cluster, "late")["reason"] == "DeadlineExceeded"


def test_a_cluster_ends_by_itself_and_leaves_no_process(tmp_path: Path) -> None:
    mark = f"3600.{os.getpid()}"
    for lifetime_s in (1.0, 10.0, 100.0):
        with FakeCluster(tmp_path / f"{lifetime_s}", lifetime_s=lifetime_s) as cluster:
            cluster.create(PODS, shell("p", f"sleep {mark} & sleep {mark}"))
            with contextlib.suppress(TimeoutError):
                cluster.wait(PODS, "p", "phase", "Running", limit_s=lifetime_s)
            is_begun = bool(cluster.pods() and cluster.pods()[0].containers)
            cluster._timer.join()
            with pytest.raises(ConnectionRefusedError):
                request(cluster, "GET", FOLDER)
            left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark in _read(path)]
            assert left == []
        if is_begun:
            return  # else the machine is slow
    raise AssertionError("the pod did not begin")


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""


def test_pods_that_wait_for_room_take_no_thread(tmp_path: Path) -> None:
    with FakeCluster(tmp_path, max_pods=1) as cluster:
        start(cluster, shell("first", "sleep 600"))
        cluster.wait(PODS, "first", "phase", "Running", limit_s=LIMIT_S)
        before = threading.active_count()
        start(cluster, *(shell(f"later-{number}", "true") for number in range(20)))
        start(cluster, shell("last", "true"))
        while len(cluster.pods()) < 22:
            time.sleep(0.01)
        assert threading.active_count() < before + 5
        for number in range(20):
            assert request(cluster, "DELETE", f"{FOLDER}/later-{number}")[0] == 200
        assert request(cluster, "DELETE", f"{FOLDER}/first")[0] == 200
        assert end_of(cluster, "last")["phase"] == "Succeeded"


def test_a_fault_of_the_emulation_itself_is_no_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Pod) -> None:
        raise KeyError("a mistake of ours")

    monkeypatch.setattr(Pod, "run", broken)

    def run_a_pod() -> None:
        with FakeCluster(tmp_path) as cluster:
            start(cluster, shell("p", "true"))
            while not cluster.kubelet.failures:
                time.sleep(0.01)

    with pytest.raises(RuntimeError) as told:
        run_a_pod()
    assert isinstance(told.value.__cause__, KeyError)
