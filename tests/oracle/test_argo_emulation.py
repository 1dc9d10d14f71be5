"""The parts of the emulated cluster, without Argo."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.kubernetes import sandbox
from tests.fakes.kubernetes.container import Container, Node, sandbox_obstacle
from tests.fakes.kubernetes.expansion import expand
from tests.fakes.kubernetes.faults import Faults, PodFault
from tests.fakes.kubernetes.kubelet import Kubelet
from tests.fakes.kubernetes.selectors import selector
from tests.fakes.kubernetes.store import CONFIG_MAPS, PODS, ApiError, Store
from tests.oracle.argo.bucket import Bucket
from tests.support.waiting import LIMIT_S, until

NO_SANDBOX = sandbox_obstacle()


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)", "1"),
        ("$(B)", "$(B)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$$$", "$$"),
        ("$A $ $( $)", "$A $ $( $)"),
        ("$(A", "$(A"),
        ("$(A$(A))", "$(A$(A))"),
        ("$()", "$()"),
        ("100%$", "100%$"),
    ],
)
def test_expansion_follows_the_kubelet(text: str, expanded: str) -> None:
    # The cases of k8s.io/kubernetes/third_party/forked/golang/expansion that matter here.
    assert expand(text, {"A": "1"}) == expanded


def config_map(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "data": {"x": "1"}}


def test_a_write_with_an_old_version_is_a_conflict() -> None:
    store = Store()
    first = store.create(CONFIG_MAPS, "default", config_map("a"))
    store.patch(CONFIG_MAPS, "default", "a", {"data": {"x": "2"}})
    with pytest.raises(ApiError) as refused:
        store.update(CONFIG_MAPS, "default", "a", {**first, "data": {}})
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")


def test_a_merge_patch_removes_what_is_null_and_keeps_the_rest() -> None:
    store = Store()
    before = store.create(CONFIG_MAPS, "default", config_map("a", k="v"))
    after = store.patch(CONFIG_MAPS, "default", "a", {"data": {"x": None, "y": [1]}})
    assert after["data"] == {"y": [1]}
    assert after["metadata"]["labels"] == {"k": "v"}
    assert before["data"] == {"x": "1"}, "what was read before does not change"
    assert before["metadata"]["resourceVersion"] != after["metadata"]["resourceVersion"]


def test_a_watch_sees_objects_come_into_and_leave_its_selection() -> None:
    store = Store()
    store.create(CONFIG_MAPS, "default", config_map("a", on="yes"))
    events = store.watch(CONFIG_MAPS, selector("default", "on=yes", ""), "0", timeout_s=0.01)
    seen = [next(events)]
    store.patch(CONFIG_MAPS, "default", "a", {"data": {"x": "2"}})
    store.patch(CONFIG_MAPS, "default", "a", {"metadata": {"labels": {"on": "no"}}})
    store.patch(CONFIG_MAPS, "default", "a", {"data": {"x": "3"}})
    store.create(CONFIG_MAPS, "other", config_map("a", on="yes"))
    store.patch(CONFIG_MAPS, "default", "a", {"metadata": {"labels": {"on": "yes"}}})
    store.delete(CONFIG_MAPS, "default", "a")
    seen += itertools.takewhile(lambda event: event is not None, events)
    assert [event[0] for event in seen if event] == [
        "ADDED",
        "MODIFIED",
        "DELETED",
        "ADDED",
        "DELETED",
    ]


def test_finalizers_keep_an_object_until_they_are_removed() -> None:
    store = Store()
    pod = {"metadata": {"name": "p", "finalizers": ["f"]}, "spec": {}}
    store.create(PODS, "default", pod)
    assert "deletionTimestamp" in store.delete(PODS, "default", "p")["metadata"]
    store.patch(PODS, "default", "p", {"metadata": {"finalizers": []}})
    with pytest.raises(ApiError):
        store.get(PODS, "default", "p")


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ("a=1", True),
        ("a==1,b", True),
        ("a!=1", False),
        ("!c", True),
        ("c", False),
        ("a in (0, 1),b notin (x,y)", True),
        ("a notin (1)", False),
        ("c!=1", True),
    ],
)
def test_label_selectors(labels: str, found: bool) -> None:
    matches = selector("", labels, "")
    assert matches({"metadata": {"labels": {"a": "1", "b": "2"}}}) is found


def test_the_bucket_reads_a_body_in_signed_chunks(tmp_path: Path) -> None:
    bucket = Bucket(tmp_path)
    body = (
        b"3;chunk-signature=0\r\na\r\n\r\n2;chunk-signature=1\r\nbc\r\n0;chunk-signature=2\r\n\r\n"
    )
    headers = {"X-Amz-Content-Sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"}
    assert bucket.answer("PUT", "/artifacts/k/e y", {}, headers, body).code == 200
    assert (tmp_path / "k" / "e y").read_bytes() == b"a\r\nbc"
    assert bucket.answer("GET", "/artifacts/k/e y", {}, {}, b"").body == b"a\r\nbc"
    assert bucket.answer("PUT", "/artifacts/../out", {}, {}, b"").code == 400


@pytest.fixture
def node(tmp_path: Path) -> Node:
    tools, kubeconfig = tmp_path / "tools", tmp_path / "kubeconfig"
    tools.mkdir()
    kubeconfig.touch()
    return Node(Store(), tools, kubeconfig)


def run_container(node: Node, folder: Path, script: str, **spec: object) -> Container:
    pod = {"metadata": {"name": "p", "namespace": "default"}, "spec": {}}
    given = {"name": "main", "image": "x", "command": ["sh", "-c", script], **spec}
    container = Container(node, pod, given, {"data": folder / "data"}, folder / "main")
    container.wait()
    return container


@pytest.mark.skipif(NO_SANDBOX is not None, reason=str(NO_SANDBOX))
def test_a_container_has_files_and_processes_of_its_own(node: Node, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "given").write_text("given")
    script = """
        echo pid $$$$; ls /tmp; cat /data/given; echo made > /data/made; touch /tmp/x
        echo not to be written > /usr/bin/sh || echo read-only
        echo said > /dev/termination-log
        sleep 3600 & echo "$X"
    """
    container = run_container(
        node,
        tmp_path,
        script,
        env=[{"name": "Y", "value": "y"}, {"name": "X", "value": "$(Y)$$ $(Z)"}],
        volumeMounts=[{"name": "data", "mountPath": "/data"}],
    )
    assert container.output("stdout").splitlines() == ["pid 1", "givenread-only", "y$ $(Z)"]
    assert (tmp_path / "data" / "made").read_text() == "made\n"
    assert container.status()["state"]["terminated"]["message"] == "said\n"


@pytest.mark.skipif(NO_SANDBOX is not None, reason=str(NO_SANDBOX))
@pytest.mark.parametrize(
    ("command", "code", "reason"),
    [
        (["true"], 0, "Completed"),
        (["sh", "-c", "exit 3"], 3, "Error"),
        (["sh", "-c", "kill -9 1; exit 4"], 4, "Error"),  # the first process cannot be killed
        (["no-such-program"], sandbox.CANNOT_START, "StartError"),
        (["echo", "x" * 200_000], sandbox.CANNOT_START, "StartError"),
    ],
)
def test_how_a_container_ends(
    node: Node, tmp_path: Path, command: list[str], code: int, reason: str
) -> None:
    ended = run_container(node, tmp_path, "", command=command).status()["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (code, reason)


@pytest.mark.skipif(NO_SANDBOX is not None, reason=str(NO_SANDBOX))
@pytest.mark.parametrize(
    ("main", "fault", "late_s", "is_asked"),
    [
        (["true"], PodFault(), LIMIT_S, False),
        (["sh", "-c", "exit 3"], PodFault(), LIMIT_S, False),
        (["no-such-program"], PodFault(), LIMIT_S, True),
        (["sleep", "infinity"], PodFault(out_of_memory_after_s=0.1), LIMIT_S, True),
        (["sleep", "infinity"], PodFault(), 0.1, True),  # the other runs still
    ],
)
def test_whether_an_executor_that_starts_late_can_be_asked_to_end(
    node: Node, tmp_path: Path, main: list[str], fault: PodFault, late_s: float, is_asked: bool
) -> None:
    """After a container that told how it ended it ends by itself, and could lose what it tells."""
    waits = "trap 'echo asked; exit' TERM; echo waits; while [ ! -e /data/go ]; do sleep 0.05; done"
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "volumes": [{"name": "data", "emptyDir": {}}],
        "containers": [
            {"name": "main", "image": "x", "command": main},
            {
                "name": "wait",
                "image": "x",
                "command": ["sh", "-c", waits],
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            },
        ],
    }
    late = replace(node, late="wait", late_s=late_s)
    late.store.create(PODS, "default", {"metadata": {"name": "p"}, "spec": spec})
    with Kubelet(late, tmp_path / "pods", Faults(fault)) as kubelet:
        until(lambda: kubelet.pods and len(kubelet.pods[0].containers) == 2)
        [pod] = kubelet.pods
        executor = pod.containers[1]
        until(lambda: executor.output("stdout"))
        executor.terminate()
        if not is_asked:
            time.sleep(0.3)
            (pod.folder / "volumes" / "data" / "go").touch()
        until(executor.poll)
    assert executor.output("stdout") == ("waits\nasked\n" if is_asked else "waits\n")
    assert kubelet.failures == []


@pytest.mark.skipif(NO_SANDBOX is not None, reason=str(NO_SANDBOX))
def test_without_a_process_namespace_nothing_runs(tmp_path: Path) -> None:
    # What runs there may signal "all processes".
    code = (
        "import sandbox; sandbox._start({'root': '/', 'error_fd': 2, 'cwd': '/',"
        "'argv': ['echo', 'ran'], 'env': {}})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(sandbox.__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == sandbox.CANNOT_START
    assert done.stdout == ""
    assert "process namespace" in done.stderr
