"""`couler cluster plan`: what is printed, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result

from couler.cli import app
from tests.cli.conftest import make_runner

CLUSTER = """
nodes:
  - {name: big, cpu: 32, memory: 128Gi, gpus: {type: A100, count: 4}}
  - {name: small, cpu: 8, memory: 16Gi, labels: {size: small}}
"""

ELASTIC = "elastic=couler.Elastic(epochs=10, chunks=4, batches=100, batch_s=3.6)"


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    monkeypatch.chdir(tmp_path)


def plan(body: str, *arguments: str, before: str = "") -> Result:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    Path("jobs.py").write_text(
        f"import couler\nfrom couler.steps import mpi, pytorch, tensorflow\n{before}\n"
        f'with couler.Workflow("work") as wf:\n{lines}\n'
    )
    return make_runner().invoke(app, ["cluster", "plan", "jobs.py", *arguments])


def torch(more: str) -> str:
    return f'pytorch.train(image="i", command="c", num_workers=1, step_name="t", {more})'


def test_sizes_nodes_and_prices_as_json() -> None:
    found = plan(torch(f"gpu=1, {ELASTIC}"), "--slot", "15m", "--slots", "8", "--format", "json")
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    [job] = told["jobs"]
    # 10 x 4 x 100 mini-batches of 3.6 s are 4 hours of a worker: 16 slots of one, 4 slots of four.
    assert job["slots"] == {str(slot): [{"big": 4}, {}] for slot in range(4)}
    assert (job["name"], job["state"], job["utility"]) == ("work-t", "waiting", 0.5)
    assert len(told["prices"]) == 8
    assert set(told["prices"][0]) == {"gpu", "cpu", "memory_gib"}


def test_parameter_servers_are_on_nodes_of_their_own() -> None:
    body = (
        f'tensorflow.train(image="i", command="c", num_workers=1, num_ps=1, step_name="t", gpu=1, '
        f'ps_resources={{"cpu": 1}}, {ELASTIC.removesuffix(")")}, workers_per_server=2))'
    )
    found = plan(body, "--slot", "15m", "--format", "json")
    [job] = json.loads(found.stdout)["jobs"]
    assert job["slots"]["0"] == [{"big": 4}, {"small": 2}]


def test_node_selectors_are_kept() -> None:
    found = plan(torch(f"cpu=8, {ELASTIC}"), "--slot", "15m", "--format", "json")
    assert {*json.loads(found.stdout)["jobs"][0]["slots"]["0"][0]} == {"big"}
    body = torch(f'cpu=8, node_selector={{"size": "small"}}, {ELASTIC}')
    found = plan(body, "--slot", "15m", "--format", "json")
    assert {*json.loads(found.stdout)["jobs"][0]["slots"]["0"][0]} == {"small"}


def test_a_job_without_room_is_not_admitted() -> None:
    found = plan(torch(f"gpu=1, {ELASTIC}"), "--slot", "15m", "--slots", "2")
    assert found.exit_code == 0
    assert "no        " in found.stdout
    assert "it needs 16 worker-slots, more than are free" in found.stdout
    assert "0 of 1 jobs are admitted" in found.stderr


@pytest.mark.parametrize("policy", ["specon", "remaining-work"])
def test_jobs_that_move_begin_on_nodes_in_turn(policy: str) -> None:
    body = "\n".join(torch("cpu=1").replace('"t"', f'"t{number}"') for number in range(3))
    found = plan(body, "--policy", policy)
    assert [line.split() for line in found.stdout.splitlines()] == [
        ["job", "node"],
        ["work-t0", "big"],
        ["work-t1", "small"],
        ["work-t2", "big"],
    ]


AFTER_ANOTHER = f"""
one = couler.run_container(image="i", command="c")
couler.chain(one, {torch(f"gpu=1, {ELASTIC}")})
"""


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (torch("gpu=1"), "work-t does not state its work. Give it elastic=couler.Elastic"),
        (torch(ELASTIC), "the workers of work-t request no gpu, cpu or memory"),
        (torch(f"gpu=8, {ELASTIC}"), "no node can host work-t: big has 4 GPUs, not"),
        (
            torch(f"gpu=1, {ELASTIC}").replace("num_workers=1, ", ""),
            "work-t has no workers whose number can change",
        ),
        (AFTER_ANOTHER, "waits for other steps"),
        (
            torch(f'gpu=1, {ELASTIC}, hyperparameters={{"run": wf.run_facts.id}}'),
            "is known only when the workflow runs",
        ),
        ('couler.run_container(image="i", command="c")', "the workflow work has no training job"),
    ],
)
def test_jobs_that_cannot_be_planned(body: str, told: str) -> None:
    found = plan(body)
    assert found.exit_code == 1
    assert told in found.stderr
    assert "Traceback" not in found.output


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("epochs=0", "epochs is 0; it must be a whole number of at least 1"),
        ("chunks=2.5", "chunks is 2.5; it must be a whole number"),
        ("batch_s=0", "batch_s is 0; it must be a number of at least 1e-06"),
        ("priority=float('inf')", "priority is inf"),
        ("decay_per_h=float('nan')", "decay_per_h is nan"),
        ("workers_per_server=0.5", "workers_per_server is 0.5; it must be a number of at least 1"),
    ],
)
def test_work_that_no_job_has(field: str, told: str) -> None:
    name = field.partition("=")[0]
    given = {"epochs": "1", "chunks": "1", "batches": "1", "batch_s": "1.0", "priority": "1"}
    given[name] = field.partition("=")[2]
    text = ", ".join(f"{key}={value}" for key, value in given.items())
    found = plan(torch(f"gpu=1, elastic=couler.Elastic({text})"))
    assert found.exit_code != 0
    assert told in found.stderr + str(found.exception)


def test_two_jobs_of_one_name_and_wrong_flags() -> None:
    body = torch(f"gpu=1, {ELASTIC}")
    assert plan(body).exit_code == 0
    found = make_runner().invoke(app, ["cluster", "plan", "jobs.py", "jobs.py"])
    assert found.exit_code == 1
    assert "two jobs are called work-t. Give their steps" in found.stderr
    assert plan(body, "--slot", "0s").exit_code == 2
    assert plan(body, "--apply", "-e", "airflow").exit_code == 2
    Path("cluster.yaml").unlink()
    assert "no cluster is described" in plan(body).stderr


def test_the_cluster_is_described_beside_the_program(tmp_path: Path) -> None:
    assert plan(torch(f"gpu=1, {ELASTIC}")).exit_code == 0
    (tmp_path / "sub").mkdir()
    for name in ("cluster.yaml", "jobs.py"):
        Path(name).rename(tmp_path / "sub" / name)
    assert make_runner().invoke(app, ["cluster", "plan", "sub/jobs.py"]).exit_code == 0
