"""Programs as users write them, for Argo: the listings of the paper, examples, a big loop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import couler
from couler import stages
from couler.backends.base import Target
from couler.stages.programs import load_program
from tests.support import argo_schema

ROOT = Path(__file__).parents[3]
EXAMPLES = [path for path in ROOT.glob("examples/*/*.py") if path.stem == path.parent.name]
PROGRAMS = sorted([*ROOT.glob("tests/programs/listing_*.py"), *EXAMPLES])


@pytest.mark.checkout
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_the_api_server_takes_what_a_program_becomes(program: Path) -> None:
    workflow = load_program(str(program))
    text = stages.compile(workflow, "argo", format="json").to_text()
    assert argo_schema.problems(json.loads(text)) == []


def job(number: int) -> object:
    return couler.run_container(
        image="alpine:3.20",
        command=["echo"],
        args=[f"job {number}"],
        step_name=f"job-{number}",
    )


def test_a_thousand_calls_of_one_function_make_one_container_template() -> None:
    with couler.Workflow("thousand") as workflow:
        for number in range(1000):
            job(number)
    target = Target(profile="argo-minimal-crd")
    text = stages.compile(workflow, "argo", target=target, format="json").to_text()
    templates = json.loads(text)["spec"]["templates"]
    containers = [template for template in templates if "container" in template]
    [main] = [template for template in templates if "dag" in template]
    assert [template["name"] for template in containers] == ["job"]
    assert len(main["dag"]["tasks"]) == 1000
    assert {task["template"] for task in main["dag"]["tasks"]} == {"job"}


def test_every_option_of_a_step_reaches_the_manifest() -> None:
    with couler.Workflow("options") as workflow:
        couler.run_container(
            "busybox:1.37",
            ["true"],
            step_name="idle",
            cpu=2,
            memory="1Gi",
            disk="2Gi",
            gpu=couler.Gpu(count=1, type="a100"),
            env={"A": "1"},
            retry=couler.Retry(limit=2, wait="10s"),
            timeout="5m",
            cache=True,
            working_dir="/data",
            image_pull_policy="Always",
            node_selector={"zone": "a"},
            labels={"team": "ml"},
            annotations={"note": "x"},
            mutex="one",
            priority_class="high",
            engine={"argo": {"template": {"hostAliases": []}, "task": {"hooks": {}}}},
        )
    text = stages.compile(workflow, "argo", format="json").to_text()
    assert argo_schema.problems(json.loads(text)) == []
    [main, template] = json.loads(text)["spec"]["templates"]
    assert main["dag"]["tasks"] == [{"name": "idle", "template": "idle", "hooks": {}}]
    memoize = template.pop("memoize")
    assert memoize["cache"] == {"configMap": {"name": f"couler-options-{memoize['key'][0]}"}}
    assert len(memoize["key"]) == 64
    sizes = {"cpu": "2", "memory": "1Gi", "ephemeral-storage": "2Gi"}
    assert template == {
        "name": "idle",
        "metadata": {"labels": {"team": "ml"}, "annotations": {"note": "x"}},
        "retryStrategy": {
            "limit": "2",
            "retryPolicy": "Always",
            "backoff": {"duration": "10s", "factor": 2},
        },
        "activeDeadlineSeconds": 300,
        "synchronization": {"mutexes": [{"name": "one"}]},
        "nodeSelector": {"zone": "a", "nvidia.com/gpu.product": "a100"},
        "priorityClassName": "high",
        "hostAliases": [],
        "container": {
            "image": "busybox:1.37",
            "command": ["true"],
            "env": [{"name": "A", "value": "1"}],
            "resources": {"limits": {**sizes, "nvidia.com/gpu": "1"}},
            "workingDir": "/data",
            "imagePullPolicy": "Always",
        },
    }
