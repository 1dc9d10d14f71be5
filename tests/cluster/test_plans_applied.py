"""Plans carried out on an emulated API server: sizes by slot, crashes, moves of checkpoints."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.backends.remote import Connection
from couler.cluster.controller import Controller, PlannedJob, PlanStore, TrainingPlan
from couler.cluster.objects import end_of, size_of
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.fakes.kubernetes.container import sandbox_obstacle
from tests.fakes.kubernetes.operators import Work
from tests.fakes.kubernetes.store import CONFIG_MAPS, Json, Resource

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sandbox_obstacle() is not None, reason=str(sandbox_obstacle())),
]

PYTORCH_JOBS = Resource("kubeflow.org", "v1", "pytorchjobs")
SLOT_S = 1.0
LIMIT_S = 600.0

CLUSTER = "nodes:\n" + "".join(
    f"  - {{name: node-{name}, cpu: 8, memory: 64Gi, gpus: {{type: A100, count: 4}}}}\n"
    for name in "ab"
)

PROGRAM = """
import couler
from couler.steps import pytorch

with couler.Workflow("vision") as wf:
    for name, epochs in {jobs}:
        pytorch.train(
            image="example.org/train:1", command="true", num_workers=1, gpu=1, step_name=name,
            elastic=couler.Elastic(
                epochs=epochs, chunks=4, batches=5, batch_s={slot_s} / 5, priority=10
            ),
        )
"""


class ElasticOperator:
    """Gives each job the work of its workers, by time, and ends it when that is done."""

    def __init__(self, work: dict[str, float]) -> None:
        self.work = work
        self.sizes: dict[str, list[int]] = {}

    def __call__(self, work: Work) -> None:
        sizes = self.sizes.setdefault(work.name, [])
        done, last = 0.0, time.monotonic()
        while done < self.work[work.name]:
            found = work.store.get(PYTORCH_JOBS, work.namespace, work.name)
            if sizes[-1:] != [size_of(found)]:
                sizes.append(size_of(found))
            work.pause(0.02)
            now = time.monotonic()
            done += sizes[-1] * (now - last)
            last = now
        work.report({"conditions": [{"type": "Succeeded", "status": "True"}]})


class Applied:
    """`couler cluster plan --apply` as a process."""

    def __init__(self, folder: Path, cluster: FakeCluster, *arguments: str) -> None:
        environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "NO_COLOR": "1"}
        command = [sys.executable, "-m", "couler.cli", "cluster", "plan", "program.py", "--apply"]
        self.process = subprocess.Popen(
            [*command, "-e", "argo", "--cluster", "cluster.yaml", *arguments],
            cwd=folder,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def end(self) -> str:
        """Return what it has printed, when it has ended well."""
        printed, _ = self.process.communicate(timeout=LIMIT_S)
        assert self.process.returncode == 0, printed
        return printed

    def crash(self) -> str:
        """End it at once, as a machine that fails does."""
        self.process.send_signal(signal.SIGKILL)
        return self.process.communicate(timeout=LIMIT_S)[0]


def until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.05)


def running(cluster: FakeCluster) -> list[str]:
    return [name for name, one in objects(cluster, PYTORCH_JOBS).items() if end_of(one) is None]


def objects(cluster: FakeCluster, resource: Resource) -> dict[str, Json]:
    return {one["metadata"]["name"]: one for one in cluster.objects(resource)}


def write_program(folder: Path, jobs: dict[str, int]) -> dict[str, float]:
    """Write a program whose jobs have epochs of 4 worker-slots; return their worker-seconds."""
    (folder / "cluster.yaml").write_text(CLUSTER)
    text = PROGRAM.format(jobs=list(jobs.items()), slot_s=SLOT_S)
    (folder / "program.py").write_text(text)
    return {f"vision-{name}": 3.9 * jobs[name] * SLOT_S for name in jobs}


@contextlib.contextmanager
def elastic_cluster(
    folder: Path, jobs: dict[str, int]
) -> Iterator[tuple[FakeCluster, ElasticOperator]]:
    """Serve a cluster for the jobs of a program."""
    operator = ElasticOperator(write_program(folder, jobs))
    with FakeCluster(folder / "cluster", operators={PYTORCH_JOBS: operator}) as cluster:
        yield cluster, operator


ARGUMENTS = ("--slot", "1s", "--slots", "20", "--interval", "200ms")


def test_jobs_are_created_and_end(tmp_path: Path) -> None:
    with elastic_cluster(tmp_path, {"one": 3, "two": 5}) as (cluster, operator):
        printed = Applied(tmp_path, cluster, *ARGUMENTS).end()
        assert "created vision-one with 4 workers" in printed
        assert "vision-one has succeeded" in printed
        assert "vision-two has succeeded" in printed
        assert set(operator.sizes) == {"vision-one", "vision-two"}
        assert objects(cluster, CONFIG_MAPS) == {}
        [first, second] = objects(cluster, PYTORCH_JOBS).values()
        for found in (first, second):
            assert found["metadata"]["labels"]["couler/plan"] == "jobs"
            assert "generateName" not in found["metadata"]
        # A plan that has ended is gone, its jobs are not: they are not taken for new ones.
        again = Applied(tmp_path, cluster, *ARGUMENTS)
        printed, _ = again.process.communicate(timeout=LIMIT_S)
        assert "the PyTorchJob vision-one exists already" in printed
        assert again.process.returncode == 4


def test_sizes_change_by_slot_and_a_slot_without_workers_suspends(tmp_path: Path) -> None:
    with elastic_cluster(tmp_path, {"one": 1}) as (cluster, operator):
        operator.work["vision-one"] = 1e9
        pod = {"spec": {"containers": [{"name": "pytorch", "image": "any"}]}}
        replica = {"replicas": 1, "template": pod}
        manifest = {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"generateName": "x-"},
            "spec": {"pytorchReplicaSpecs": {"Master": replica, "Worker": replica}},
        }
        slots = {"0": ({"a": 2}, {}), "1": ({}, {}), "2": ({"a": 4}, {}), "3": ({"a": 1}, {})}
        plan = TrainingPlan(
            "own", "oasis", time.time(), 3.0, [PlannedJob("vision-one", manifest, slots=slots)]
        )
        fields = {"kubeconfig": str(cluster.kubeconfig)}
        api = ArgoBackend().objects(Connection("argo", Target(), fields), {})
        told: list[str] = []

        def report(line: str) -> None:
            told.append(line)
            if line.endswith("to 1 workers"):
                operator.work["vision-one"] = 0.0

        Controller(api, PlanStore(api, "own"), plan, interval_s=0.1, report=report).run()
    assert operator.sizes["vision-one"][:3] == [2, 0, 4]
    assert told == [
        "created vision-one with 2 workers",
        "vision-one: 2 to 0 workers",
        "vision-one: 0 to 4 workers",
        "vision-one: 4 to 1 workers",
        "vision-one has succeeded",
    ]


def test_a_controller_that_crashed_continues_from_what_the_server_has(tmp_path: Path) -> None:
    with elastic_cluster(tmp_path, {"one": 5, "two": 3}) as (cluster, operator):
        operator.work["vision-one"] = 1e9
        first = Applied(tmp_path, cluster, *ARGUMENTS)
        until(lambda: len(operator.sizes) == 2)
        first.crash()
        before = objects(cluster, PYTORCH_JOBS)
        plan = json.loads(objects(cluster, CONFIG_MAPS)["couler-plan-jobs"]["data"]["plan"])
        second = Applied(tmp_path, cluster, *ARGUMENTS)
        until(lambda: "vision-two" not in running(cluster))
        operator.work["vision-one"] = 0.0
        printed = second.end()
        after = objects(cluster, PYTORCH_JOBS)
    assert "continuing the plan jobs, in its slot" in printed
    assert "created vision-one" not in printed
    assert "vision-one has succeeded" in printed
    assert before["vision-one"]["metadata"]["uid"] == after["vision-one"]["metadata"]["uid"]
    assert {job["name"] for job in plan["jobs"]} == {"vision-one", "vision-two"}


def test_a_job_that_somebody_deletes_is_not_recreated(tmp_path: Path) -> None:
    with elastic_cluster(tmp_path, {"one": 6, "two": 3}) as (cluster, operator):
        operator.work["vision-one"] = 1e9
        applied = Applied(tmp_path, cluster, *ARGUMENTS)
        until(lambda: "vision-one" in operator.sizes)
        cluster.store.delete(PYTORCH_JOBS, "default", "vision-one")
        printed, _ = applied.process.communicate(timeout=LIMIT_S)
        left = objects(cluster, PYTORCH_JOBS)
    assert "vision-one was deleted externally and is not recreated" in printed
    assert "vision-two has succeeded" in printed
    assert applied.process.returncode == 1
    assert set(left) == {"vision-two"}


def test_an_object_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    with elastic_cluster(tmp_path, {"one": 3}) as (cluster, operator):
        operator.work["vision-one"] = 1e9
        spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 7, "template": {"spec": {}}}}}
        cluster.store.create(
            PYTORCH_JOBS,
            "default",
            {"kind": "PyTorchJob", "metadata": {"name": "vision-one"}, "spec": spec},
        )
        applied = Applied(tmp_path, cluster, *ARGUMENTS)
        printed, _ = applied.process.communicate(timeout=LIMIT_S)
        found = objects(cluster, PYTORCH_JOBS)["vision-one"]
    assert applied.process.returncode == 4
    assert "the PyTorchJob vision-one exists already" in printed
    assert size_of(found) == 7


def test_of_two_processes_with_one_plan_one_ends(tmp_path: Path) -> None:
    with elastic_cluster(tmp_path, {"one": 3}) as (cluster, operator):
        operator.work["vision-one"] = 1e9
        both = [Applied(tmp_path, cluster, *ARGUMENTS)]
        until(lambda: "vision-one" in operator.sizes)
        both.append(Applied(tmp_path, cluster, *ARGUMENTS))
        until(lambda: any(one.process.poll() is not None for one in both))
        operator.work["vision-one"] = 0.0
        printed = [one.process.communicate(timeout=LIMIT_S)[0] for one in both]
    assert sorted(one.process.returncode for one in both) == [0, 4]
    assert "another process has changed the ConfigMap couler-plan-jobs" in "".join(printed)
    assert "vision-one has succeeded" in "".join(printed)


TRAINING = """
import json, pathlib, signal, sys, time
import numpy as np

store = pathlib.Path({folder!r}, sys.argv[1] + ".npz")
rng = np.random.default_rng(0)
data = rng.normal(size=(200, 4))
labels = data @ np.arange(4.0) + rng.normal(size=200) * 0.1
saved = np.load(store) if store.exists() else dict(step=0, weights=np.zeros(4))
step, weights = int(saved["step"]), saved["weights"]
if step:
    store.with_suffix(".resumed").write_text(str(step))
stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
while step < int(sys.argv[2]):
    weights = weights - float(sys.argv[3]) * data.T @ (data @ weights - labels) / len(data)
    step += 1
    loss = float(np.mean((data @ weights - labels) ** 2))
    if step % 10 == 0:
        told = json.dumps(dict(loss=loss, done=step / int(sys.argv[2])))
        print("couler-progress", told, flush=True)
    time.sleep(0.02)
    if stopped:
        np.savez(store, step=step, weights=weights)
        sys.exit(1)
store.with_suffix(".txt").write_text(repr(loss))
"""

JOBS_PROGRAM = """
import couler

with couler.Workflow("digits") as wf:
    for name, steps, rate in {jobs}:
        couler.run_job(
            {{
                "apiVersion": "batch/v1", "kind": "Job", "metadata": {{"generateName": "job-"}},
                "spec": {{"backoffLimit": 0, "template": {{"spec": {{
                    "restartPolicy": "Never",
                    "containers": [{{"name": "main", "image": "any", "command":
                        ["python", {script!r}, name, str(steps), str(rate)]}}],
                }}}}}},
            }},
            success_condition="status.succeeded == 1",
            step_name=name,
        )
"""

MOVED = {
    # The work of a and c is on node-a alone when b and d have ended.
    "remaining-work": [("a", 700, 0.01), ("b", 50, 0.01), ("c", 700, 0.01), ("d", 50, 0.01)],
    # a has converged while c and e still progress, and node-b is idle.
    "specon": [
        *[("a", 1000, 0.05), ("b", 50, 0.01), ("c", 1000, 0.002), ("d", 50, 0.01)],
        ("e", 1000, 0.002),
    ],
}


@pytest.mark.parametrize("policy", ["remaining-work", "specon"])
def test_jobs_move_with_their_checkpoints(policy: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (store / "train.py").write_text(TRAINING.format(folder=str(store)))
    text = JOBS_PROGRAM.format(jobs=MOVED[policy], script=str(store / "train.py"))
    (tmp_path / "program.py").write_text(text)
    with FakeCluster(tmp_path / "cluster", shared=[store]) as cluster:
        arguments = ("--policy", policy, "--interval", "1s", "--name", "moving")
        printed = Applied(tmp_path, cluster, *arguments).end()
    names = [name for name, _, _ in MOVED[policy]]
    assert printed.count("has succeeded") == len(names)
    moved = [line.split()[1] for line in printed.splitlines() if line.startswith("moved ")]
    assert moved
    assert policy != "specon" or moved[0] == "digits-a"
    for name in moved:
        resumed = store / f"{name.removeprefix('digits-')}.resumed"
        assert int(resumed.read_text()) > 0
    if policy == "remaining-work":
        # One of two equal jobs has moved, and ends with the loss of the other.
        assert (store / "a.txt").read_text() == (store / "c.txt").read_text()
