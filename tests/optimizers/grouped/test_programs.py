"""Programs of typed steps, with files, folders and records, give the same in one pod."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

import couler
from couler import Directory, File, stages
from couler.backends.base import RunOptions
from couler.ir.workflow import ExitHandler
from couler.stages import RunResult
from tests.corpus.build import flow, sh


class Parts(NamedTuple):
    train: File
    test: File
    rows: int


@dataclass
class Line:
    slope: float
    offset: float


def test_nothing_outlives_a_group_that_is_killed(tmp_path: Path) -> None:
    """Not even until the run ends: what comes next would find it in its way."""
    says = f"echo $$ > {tmp_path}/pid; kill -9 $PPID; sleep 60"
    look = sh("look", f"ps -o stat= -p $(cat {tmp_path}/pid) > {tmp_path}/seen || true")
    workflow = flow(
        "w",
        sh("a", says),
        sh("b", "true", depends_on=["a"]),
        exit_handlers=[ExitHandler(name="after", on="any", steps=(look,))],
    )
    passes = ("group{images=['busybox:1.36 = python']}",)
    result = stages.run(workflow, passes=passes, options=RunOptions(home=tmp_path))
    assert result.steps["a"].status == "failed"
    assert result.steps["a-to-b"].exit_code == 137
    assert (tmp_path / "seen").read_text().strip()[:1] in ("", "Z")


@couler.step(image="python:3.12-slim")
def measure(rows: int, noise: float) -> File:
    import random

    dice = random.Random(7)
    with open("points.csv", "w") as file:
        for x in range(rows):
            file.write(f"{x},{3 * x + 2 + dice.uniform(-noise, noise)}\n")
    return File("points.csv")


@couler.step(image="python:3.12-slim")
def divide(points: File, share: float) -> Parts:
    with open(points) as file:
        lines = file.readlines()
    cut = int(len(lines) * share)
    for name, some in (("train.csv", lines[:cut]), ("test.csv", lines[cut:])):
        with open(name, "w") as file:
            file.writelines(some)
    return Parts(File("train.csv"), File("test.csv"), len(lines))


@couler.step(image="python:3.12-slim", retry=1, timeout="1m")
def fit(train: File) -> Line:
    with open(train) as file:
        points = [tuple(map(float, line.split(","))) for line in file]
    n = len(points)
    mean_x, mean_y = (sum(one[k] for one in points) / n for k in (0, 1))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points)
    slope /= sum((x - mean_x) ** 2 for x, _ in points)
    return Line(slope, mean_y - slope * mean_x)


@couler.step(image="python:3.12-slim")
def judge(line: Line, test: File) -> float:
    with open(test) as file:
        points = [tuple(map(float, row.split(","))) for row in file]
    return max(abs(y - line.slope * x - line.offset) for x, y in points)


@couler.step(image="python:3.12-slim")
def write_up(error: float, line: Line, rows: int) -> Directory:
    import os

    os.makedirs("report/figures")
    with open("report/text", "w") as file:
        file.write(f"{rows} rows, {line.slope:.3f} x + {line.offset:.3f}, off by {error:.3f}\n")
    with open("report/figures/line.csv", "w") as file:
        file.write(f"{line.slope},{line.offset}\n")
    return Directory("report")


@couler.step(image="alpine:3")
def publish(report: Directory) -> str:
    with open(report + "/text") as file:
        return file.read()


def program() -> couler.Workflow:
    with couler.Workflow("line-fit", rows=40) as wf:
        parts = divide(measure(wf.params.rows, 0.1), 0.75)
        line = fit(parts.train)
        report = write_up(judge(line, parts.test), line, parts.rows)
        wf.output("said", publish(report))
    return wf


def run(passes: tuple[str, ...], home: Path, **parameters: object) -> RunResult:
    options = RunOptions(home=home)
    return stages.run(program(), passes=passes, parameters=parameters, options=options)


@pytest.mark.parametrize("passes", [(), ("group",), ("group{max_steps=3}",)], ids=str)
def test_a_line_is_fitted(passes: tuple[str, ...], tmp_path: Path) -> None:
    result = run(passes, tmp_path)
    assert result.status == "succeeded"
    assert result.outputs["said"].startswith("40 rows, 3.00")
    names = ("measure", "divide", "fit", "judge", "write_up", "publish")
    assert {result.steps[name].status for name in names} == {"succeeded"}
    assert ("measure-to-write_up" in result.steps) == (passes == ("group",))


def test_too_few_points_fail_where_they_did(tmp_path: Path) -> None:
    ends = []
    for number, passes in enumerate(((), ("group",))):
        result = run(passes, tmp_path / str(number), rows=1)
        names = ("measure", "divide", "fit", "judge", "write_up", "publish")
        ends.append([(result.steps[name].status, result.steps[name].attempts) for name in names])
        assert result.status == "failed"
    assert ends[0] == ends[1]
    assert ends[0][2:] == [("failed", 2), ("omitted", 0), ("omitted", 0), ("omitted", 0)]
