"""Plans of training jobs that a real API server carries: sizes, the plan's config map, ends."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from couler.cli import app
from couler.cluster.objects import size_of
from tests.cluster.test_plans_applied import ARGUMENTS, until, write_program
from tests.kube.api_server import ApiServer, Json

pytestmark = [pytest.mark.kube_api, pytest.mark.timeout(600)]

JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
DEFINITION: Json = {  # the training operator's has the fields of pods besides
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "pytorchjobs.kubeflow.org"},
    "spec": {
        "group": "kubeflow.org",
        "scope": "Namespaced",
        "names": {"kind": "PyTorchJob", "plural": "pytorchjobs", "singular": "pytorchjob"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


def operate(server: ApiServer, work: dict[str, float], sizes: dict[str, set[int]]) -> None:
    """Let the workers of jobs do their work, and say when the jobs have succeeded."""
    left = dict(work)
    limit, last = time.monotonic() + 60, time.monotonic()
    while left and last < limit:
        time.sleep(0.1)
        now = time.monotonic()
        for one in server.call("GET", JOBS)[1]["items"]:
            name = one["metadata"]["name"]
            if name in left:
                sizes.setdefault(name, set()).add(size_of(one))
                left[name] -= size_of(one) * (now - last)
                one["status"] = {"conditions": [{"type": "Succeeded", "status": "True"}]}
                if left[name] <= 0 and server.call("PUT", f"{JOBS}/{name}/status", one)[0] == 200:
                    del left[name]
        last = now


def test_a_plan_is_carried_out(cluster: ApiServer, tmp_path: Path) -> None:
    cluster.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
    until(lambda: cluster.call("GET", JOBS)[0] == 200)
    needed = write_program(tmp_path, {"one": 3, "two": 5})
    sizes: dict[str, set[int]] = {}
    operator = threading.Thread(target=operate, args=(cluster, needed, sizes))
    operator.start()
    arguments = ("-e", "argo", "--cluster", "cluster.yaml", *ARGUMENTS)
    found = CliRunner().invoke(app, ["cluster", "plan", "program.py", "--apply", *arguments])
    operator.join()
    assert found.exit_code == 0, found.output
    assert all(f"{name} has succeeded" in found.output for name in needed)
    assert {name: max(seen) for name, seen in sizes.items()} == dict.fromkeys(needed, 4)
    plans = cluster.call("GET", "/api/v1/namespaces/default/configmaps")[1]["items"]
    assert [one["metadata"]["name"] for one in plans] == ["couler-plan-jobs"]
