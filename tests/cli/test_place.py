"""Placement on the command line: which file describes the machines, and what comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = """
import couler

@couler.step(profile={"seconds": 30})
def load() -> int:
    return 1

@couler.step(profile={"operations": 5e12, "model": "dense-network", "task": "training"}, cpu=2)
def fit(rows: int) -> int:
    return rows + 1

with couler.Workflow("select") as wf:
    wf.output("model", fit(load()))
"""

LAB = """
pools:
  - {name: low, count: 3, cpu: 4, memory: 15Gi, group: low, labels: {team: low}}
nodes:
  - name: gpu-1
    cpu: 64
    memory: 256Gi
    group: gpu
    gpus: {type: a100, count: 4}
    labels: {team: gpu}
    taints: [{key: nvidia.com/gpu, value: present}]
speeds:
  - {operations_per_s: 1e9}
  - {group: gpu, model: dense-network, operations_per_s: 1e12}
"""


@pytest.fixture
def program(write: Callable) -> Path:
    return Path(write("flow.py", PROGRAM))


@pytest.fixture
def lab(write: Callable) -> str:
    return str(write("lab.yaml", LAB))


def test_a_plan_tells_where_each_step_goes_and_why(
    couler: Callable, program: Path, lab: str
) -> None:
    told = couler("plan", str(program), "-e", "argo", "--pass", "place", "--cluster", lab)
    assert told.code == 0
    assert "Placed by upward-rank: 1 on low, 1 on gpu." in told.out
    assert "~ load: placement (On low, at best low-1: takes 30 s there" in told.out
    assert "~ fit: resources, placement (On gpu, at best gpu-1: takes 5 s there" in told.out
    found = couler(
        *("plan", str(program), "-e", "argo", "--pass", "place", "--cluster", lab),
        *("--format", "json"),
    )
    [record] = [one for one in json.loads(found.out)["passes"] if one["pass"] == "place"]
    assert record["step_reasons"]["fit"].startswith("On gpu")


def test_airflow_gets_them_too(couler: Callable, program: Path, lab: str) -> None:
    told = couler("compile", str(program), "-e", "airflow", "--pass", "place", "--cluster", lab)
    assert told.code == 0
    compile(told.out, "dag.py", "exec")
    assert told.out.count('"team": "gpu"') + told.out.count("'team': 'gpu'") == 1
    assert "nvidia.com/gpu" in told.out
    assert "V1Toleration" in told.out or "tolerations" in told.out


def test_the_file_beside_the_program_is_taken_if_a_pass_asks(
    couler: Callable, program: Path
) -> None:
    beside = program.parent / "cluster.yaml"
    beside.write_text(LAB)
    assert "team: gpu" in couler("compile", str(program), "-e", "argo", "--pass", "place").out
    beside.write_text("nodes: 3\n")
    assert couler("compile", str(program), "-e", "argo").code == 0
    told = couler("compile", str(program), "-e", "argo", "--pass", "place")
    assert told.code == 3
    assert "cluster.yaml" in told.err


def test_without_machines_it_says_how_to_describe_them(couler: Callable, program: Path) -> None:
    told = couler("plan", str(program), "-e", "argo", "--pass", "place")
    assert told.code == 3
    assert "Write cluster.yaml (`couler cluster import` does)" in told.err


def test_validate_tells_what_no_machine_can_run(
    couler: Callable, program: Path, write: Callable
) -> None:
    small = write("small.yaml", "nodes: [{name: a, cpu: 1, memory: 1Gi}]\n")
    told = couler(
        *("validate", str(program), "-e", "argo", "--pass", "place", "--cluster", str(small))
    )
    assert told.code == 1
    assert "CLR550" in told.out + told.err
    assert "a: has 1 CPUs, not the 2 that are asked for" in told.out + told.err


def test_a_run_here_is_not_changed_by_where_it_would_run_elsewhere(
    couler: Callable, program: Path, lab: str, tmp_path: Path
) -> None:
    told = couler(
        *("run", str(program), "--pass", "place", "--cluster", lab),
        *("--home", str(tmp_path / "home")),
    )
    assert told.code == 0
    assert told.out.strip() == "model = 2"


def test_a_priority_is_the_weight_of_a_task_and_no_thing_of_argo(
    couler: Callable, write: Callable
) -> None:
    path = write(
        "first.py",
        PROGRAM.replace("@couler.step(profile", "@couler.step(priority=3, profile", 1),
    )
    told = couler("compile", str(path), "-e", "airflow")
    assert told.code == 0
    assert "priority_weight=3" in told.out
    assert '"priority_weight": 0' in told.out
    assert '"weight_rule": "absolute"' in told.out
    refused = couler("compile", str(path), "-e", "argo")
    assert refused.code == 5
    assert "Give the step a priority_class" in refused.err


def test_the_cost_of_machines_stands_in_the_table(
    couler: Callable, program: Path, write: Callable
) -> None:
    lab = str(write("priced.yaml", LAB.replace("cpu: ", "price_usd_per_h: 3.6, cpu: ", 1)))
    assert "price_usd_per_h: 3.6" in Path(lab).read_text()
    flow = str(program)
    plan = couler("plan", flow, "--pass", "place", "--cluster", lab)
    assert plan.out.splitlines()[3].endswith(" unknown")  # the GPU has no price
    Path(lab).write_text(
        Path(lab).read_text().replace("cpu: 64", "price_usd_per_h: 36\n    cpu: 64")
    )
    plan = couler("plan", flow, "--pass", "place", "--cluster", lab)
    # 30 s at 3.60 USD an hour, and 5 s at 36 USD an hour.
    assert plan.out.splitlines()[3].endswith(" unknown -> 0.08 USD")
    known = (
        "seconds are known of 2 of 2 steps on the machines that place chose, memory of 0; cost of "
        "2 of 2: machines while they "
    )
    assert f"estimates: {known}run any of it, by place\n" in plan.out
    report = couler("plan", flow, "--pass", "place", "--cluster", lab, "--format", "json").json
    assert (report["costs_by"], report["currency"]) == ("place", "USD")
    assert (report["seconds_by"], report["after"]["critical_path_s"]["value"]) == ("place", 35.0)
    assert report["after"]["cost"] == {
        "value": pytest.approx(0.08),
        "known_steps": 2,
        "steps": 2,
    }
    page = couler("plan", flow, "--pass", "place", "--cluster", lab, "--as", "html")
    assert "0.08 USD" in page.out
