"""Speeds that runs of this machine have shown, on the command line: shown, and gone by."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
import yaml

from couler.cluster.reading import read_cluster
from couler.state import Home, open_database
from couler.state.tables import attempts

PROGRAM = """
import couler

@couler.step(profile={"operations": 1e12, "model": "random-forest", "task": "training"})
def fit() -> int:
    return 1

with couler.Workflow("fitting") as wf:
    wf.output("model", fit())
"""

LAB = f"""
nodes:
  - {{name: {socket.gethostname()}, cpu: 4, memory: 15Gi, group: low, labels: {{team: low}}}}
  - {{name: high-1, cpu: 16, memory: 60Gi, group: high, labels: {{team: high}}}}
speeds:
  - {{operations_per_s: 1e9}}
  - {{group: high, operations_per_s: 4e9}}
"""


@pytest.fixture
def program(write: Callable) -> str:
    write("cluster.yaml", LAB)
    return str(write("flow.py", PROGRAM))


@pytest.fixture
def ran(couler: Callable, program: str) -> str:
    """Runs of this machine, of which the database says that they took 1, 2 and 9 s."""
    for _ in range(3):
        assert couler("run", "-q", "--no-cache", program).code == 0
    with (
        open_database(Home.find(os.environ).database_url) as database,
        database.write() as connection,
    ):
        rows = connection.execute(sa.select(attempts)).mappings().all()
        assert [row["node"] for row in rows] == [socket.gethostname()] * 3
        for row, seconds in zip(rows, (1, 2, 9), strict=True):
            took = row["finished"].replace(microsecond=0)
            began = took.replace(second=0)
            connection.execute(
                sa.update(attempts)
                .where(attempts.c.run_id == row["run_id"])
                .values(started=began, finished=began.replace(second=seconds))
            )
    return program


def placed(couler: Callable, program: str, pass_: str = "place") -> dict:
    told = couler("plan", program, "-e", "argo", "--pass", pass_, "--format", "json")
    [record] = [one for one in told.json["passes"] if one["pass"] == "place"]
    return record


def test_what_runs_have_shown_decides(couler: Callable, ran: str) -> None:
    """By hand: 1e12 operations in 2 s, the median, are 5e11/s, where 1e9/s is stated.

    So the 4e9/s that are stated for high count 500 times: 2e12/s, which takes 0.5 s.
    """
    record = placed(couler, ran)
    assert record["step_reasons"]["fit"].startswith("On high, at best")
    assert "takes 0.5 s there" in record["step_reasons"]["fit"]
    assert (
        "Speeds by earlier runs: random-forest on low 5e11/s (median of 3 runs)."
        in (record["reason"])
    )
    assert "couler compile, validate and schedule put go by cluster.yaml alone" in record["reason"]
    assert "stated for random-forest on high is taken times 500," in record["reason"]
    [speed] = record["facts"]["speeds"]
    assert (speed["operations_per_s"], speed["measurements"]) == (5e11, 3)
    again = placed(couler, ran)
    assert [again[name] for name in ("changes", "reason", "facts")] == [
        record[name] for name in ("changes", "reason", "facts")
    ]
    for without in ("place{learn=false}", "place{least=4}"):
        record = placed(couler, ran, without)
        assert "takes 250 s there" in record["step_reasons"]["fit"]
        assert "earlier runs" not in record["reason"]


def test_without_runs_nothing_is_asked_or_made(couler: Callable, program: str) -> None:
    record = placed(couler, program)
    assert record["step_reasons"]["fit"].startswith("On high")
    assert (record["facts"], "earlier runs" in record["reason"]) == ({}, False)
    told = couler("cluster", "speeds")
    assert told.out.splitlines() == [
        "model  group  stated  learned",
        "(all)  (all)   1e9/s",
        "(all)  high    4e9/s",
    ]
    assert told.err == "no earlier run has shown any on these machines\n"
    assert not Path(Home.find(os.environ).root / "couler.db").exists()


def test_speeds_are_shown_beside_those_that_are_stated(couler: Callable, ran: str) -> None:
    told = couler("cluster", "speeds", "cluster.yaml")
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines() == [
        "model          group  stated  learned",
        "(all)          (all)   1e9/s",
        "(all)          high    4e9/s",
        "random-forest  low     1e9/s   5e11/s  median of 3 runs",
    ]
    rows = couler("cluster", "speeds", "--format", "json").json
    assert (rows["schema_version"], rows["file"]) == (1, "cluster.yaml")
    assert rows["speeds"][-1] == {
        "model": "random-forest",
        "group": "low",
        "stated_operations_per_s": 1e9,
        "learned_operations_per_s": 5e11,
        "measurements": 3,
    }


def test_they_can_be_pasted(couler: Callable, ran: str) -> None:
    text = couler("cluster", "speeds", "--format", "yaml").out
    assert yaml.safe_load(text)["speeds"][-2:] == [
        {"group": "low", "model": "random-forest", "operations_per_s": 5e11},
        {"group": "high", "model": "random-forest", "operations_per_s": 2e12},
    ]
    pasted = LAB[: LAB.index("speeds:")] + text
    assert len(read_cluster(pasted).speeds) == 4
    by_runs = placed(couler, ran)
    Path("cluster.yaml").write_text(pasted)
    by_file = placed(couler, ran, "place{learn=false}")
    assert by_file["step_reasons"] == by_runs["step_reasons"]
    assert json.loads(couler("cluster", "show", "--format", "json").out)["name"] == ""


def test_nothing_stated_and_nothing_learned(couler: Callable, write: Callable) -> None:
    bare = write("bare.yaml", "nodes: [{name: a, cpu: 1, memory: 1Gi}]\n")
    told = couler("cluster", "speeds", bare)
    assert (told.code, told.out) == (0, "")
    assert told.err == (
        "no speeds are stated, and no earlier run has shown any on these machines\n"
    )
    assert couler("cluster", "speeds", bare, "--format", "json").json["speeds"] == []
    assert couler("cluster", "speeds").code == 2
