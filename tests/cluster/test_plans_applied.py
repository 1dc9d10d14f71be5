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

from couler.cluster.objects import size_of
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.fakes.kubernetes.container import sandbox_obstacle
from tests.fakes.kubernetes.operators import Work
from tests.fakes.kubernetes.store import CONFIG_MAPS, JOBS, ApiError, Json, Resource

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sandbox_obstacle() is not None, reason=str(sandbox_obstacle())),
]

PYTORCH_JOBS = Resource("kubeflow.org", "v1", "pytorchjobs")
SLOT_S = 1.0
LIMIT_S = 90.0

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


def objects(cluster: FakeCluster, resource: Resource) -> dict[str, Json]:
    return {one["metadata"]["name"]: one for one in cluster.objects(resource)}


@contextlib.contextmanager
def elastic_cluster(
    folder: Path, jobs: dict[str, int]
) -> Iterator[tuple[FakeCluster, ElasticOperator]]:
    """Serve a cluster; write a program whose jobs have epochs of 4 worker-slots."""
    (folder / "cluster.yaml").write_text(CLUSTER)
    text = PROGRAM.format(jobs=list(jobs.items()), slot_s=SLOT_S)
    (folder / "program.py").write_text(text)
    operator = ElasticOperator({f"vision-{name}": 3.9 * jobs[name] * SLOT_S for name in jobs})
    with FakeCluster(folder / "cluster", operators={PYTORCH_JOBS: operator}) as cluster:
        yield cluster, operator


def test_sizes_change_by_slot_and_jobs_end(tmp_path: Path) -> None:
    with elastic_cluster(tmp_path, {"one": 3, "two": 5}) as (cluster, operator):
        printed = Applied(tmp_path, cluster, "--slot", "1s", "--slots", "20").end()
        assert "created vision-one with 4 workers" in printed
        assert "vision-one has succeeded" in printed
        assert "vision-two has succeeded" in printed
        assert set(operator.sizes) == {"vision-one", "vision-two"}
        assert objects(cluster, CONFIG_MAPS) == {}
        [first, second] = objects(cluster, PYTORCH_JOBS).values()
    for found in (first, second):
        assert found["metadata"]["labels"]["couler/plan"] == "jobs"
        assert "generateName" not in found["metadata"]


def test_a_job_is_suspended_in_slots_without_workers_and_grows(tmp_path: Path) -> None:
    # Eight GPUs: two jobs of four workers fill them, and the third waits.
    with elastic_cluster(tmp_path, {"one": 2, "two": 4, "three": 2}) as (cluster, operator):
        printed = Applied(tmp_path, cluster, "--slot", "1s", "--slots", "20").end()
    assert printed.count("succeeded") == 3
    together = max(sizes[0] for sizes in operator.sizes.values())
    assert together <= 4


def test_a_controller_that_crashed_goes_on_from_what_the_server_has(tmp_path: Path) -> None:
    with elastic_cluster(tmp_path, {"one": 5, "two": 3}) as (cluster, operator):
        arguments = ("--slot", "1s", "--slots", "20")
        first = Applied(tmp_path, cluster, *arguments)
        until(lambda: "vision-one" in operator.sizes)
        time.sleep(1.5 * SLOT_S)
        first.crash()
        before = objects(cluster, PYTORCH_JOBS)
        plan = json.loads(objects(cluster, CONFIG_MAPS)["couler-plan-jobs"]["data"]["plan"])
        second = Applied(tmp_path, cluster, *arguments).end()
        after = objects(cluster, PYTORCH_JOBS)
    assert "going on with the plan jobs, in its slot" in second
    assert "created vision-one" not in second
    assert "vision-one has succeeded" in second
    assert before["vision-one"]["metadata"]["uid"] == after["vision-one"]["metadata"]["uid"]
    assert {job["name"] for job in plan["jobs"]} == {"vision-one", "vision-two"}


def test_a_job_that_somebody_deletes_is_left_so(tmp_path: Path) -> None:
    with elastic_cluster(tmp_path, {"one": 6, "two": 3}) as (cluster, operator):
        applied = Applied(tmp_path, cluster, "--slot", "1s", "--slots", "20")
        until(lambda: "vision-one" in operator.sizes)
        cluster.store.delete(PYTORCH_JOBS, "default", "vision-one")
        printed, _ = applied.process.communicate(timeout=LIMIT_S)
        left = objects(cluster, PYTORCH_JOBS)
    assert "vision-one was deleted by somebody else; it is left so" in printed
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
        applied = Applied(tmp_path, cluster)
        printed, _ = applied.process.communicate(timeout=LIMIT_S)
        found = objects(cluster, PYTORCH_JOBS)["vision-one"]
    assert applied.process.returncode == 4
    assert "it is not of the plan jobs" in printed
    assert size_of(found) == 7


TRAINING = """
import json, pathlib, signal, sys, time
import numpy as np

store = pathlib.Path({folder!r}, sys.argv[1] + ".npz")
rng = np.random.default_rng(0)
data = rng.normal(size=(200, 4))
labels = data @ np.arange(4.0) + rng.normal(size=200) * 0.1
saved = np.load(store) if store.exists() else dict(step=0, weights=np.zeros(4))
step, weights = int(saved["step"]), saved["weights"]
stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
while step < int(sys.argv[2]):
    weights = weights - 0.01 * data.T @ (data @ weights - labels) / len(data)
    step += 1
    loss = float(np.mean((data @ weights - labels) ** 2))
    if step % 10 == 0:
        told = json.dumps(dict(loss=loss, done=step / int(sys.argv[2])))
        print("couler-progress", told, flush=True)
    time.sleep(0.02)
    if stopped:
        np.savez(store, step=step, weights=weights)
        sys.exit(1)
print("final", repr(loss), flush=True)
store.with_suffix(".txt").write_text(repr(loss))
"""

JOBS_PROGRAM = """
import couler

with couler.Workflow("digits") as wf:
    for name, steps in {jobs}:
        couler.run_job(
            {{
                "apiVersion": "batch/v1", "kind": "Job", "metadata": {{"generateName": "job-"}},
                "spec": {{"backoffLimit": 0, "template": {{"spec": {{
                    "restartPolicy": "Never",
                    "containers": [{{"name": "main", "image": "any", "command":
                        ["python", {script!r}, name, str(steps)]}}],
                }}}}}},
            }},
            success_condition="status.succeeded == 1",
            step_name=name,
        )
"""


@pytest.mark.parametrize("policy", ["remaining-work", "specon"])
def test_jobs_move_with_their_checkpoints(policy: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (store / "train.py").write_text(TRAINING.format(folder=str(store)))
    jobs = {"a": 800, "b": 60, "c": 800, "d": 60} if policy == "remaining-work" else {"a": 30}
    text = JOBS_PROGRAM.format(jobs=list(jobs.items()), script=str(store / "train.py"))
    (tmp_path / "program.py").write_text(text)
    with FakeCluster(tmp_path / "cluster", shared=[store]) as cluster:
        printed = Applied(
            tmp_path, cluster, "--policy", policy, "--interval", "2s", "--name", "moving"
        ).end()
        nodes = {
            name: one["spec"]["template"]["spec"]["nodeSelector"]["kubernetes.io/hostname"]
            for name, one in objects(cluster, JOBS).items()
        }
    for name in jobs:
        assert f"digits-{name} has succeeded" in printed
    losses = {name: (store / f"{name}.txt").read_text() for name in jobs}
    if policy == "remaining-work":
        # a and c both begin on node-a: one of them moves, and ends with the loss of the other.
        assert "moved digits-" in printed
        assert losses["a"] == losses["c"]
        assert nodes["digits-a"] != nodes["digits-c"]


def test_the_plan_is_gone_and_can_be_made_anew(tmp_path: Path) -> None:
    with elastic_cluster(tmp_path, {"one": 2}) as (cluster, _):
        Applied(tmp_path, cluster, "--slot", "1s").end()
        with contextlib.suppress(ApiError):
            cluster.store.delete(PYTORCH_JOBS, "default", "vision-one")
        assert "created vision-one" in Applied(tmp_path, cluster, "--slot", "1s").end()
