"""Records as outputs of a workflow: objects of all their fields."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import couler
from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.stages import diagnose


class Kind(enum.Enum):
    WIDE = "wide"


@dataclass
class Summary:
    mean: float
    name: str
    kind: Kind = Kind.WIDE


class Made(NamedTuple):
    size: int
    file: couler.File


@couler.step
def summary(x: int) -> Summary:
    return Summary(x / 2, 'a "b"')


@couler.step
def name(of: Summary) -> str:
    return of.name


@couler.step
def make() -> Made:
    return Made(1, couler.File("x"))


def test_a_record_is_given_out_whole(tmp_path: Path) -> None:
    with couler.Workflow("w") as wf:
        one = summary(3)
        wf.output("whole", one)
        wf.output("again", one)
        wf.output("name", name(one))
        wf.output("all", summary.map([1, 2]))
        with couler.group("g"):
            inner = summary(9)
        wf.output("inner", inner)
        summary(4)
    assert diagnose(wf, ["local", "argo", "airflow"]) == ()
    steps = {step.name: step for step in wf.to_ir().steps}
    assert [one.name for one in steps["summary"].outputs] == ["mean", "name", "kind", "result"]
    assert [one.name for one in steps["summary-3"].outputs] == ["mean", "name", "kind"]
    result = LocalBackend().run(wf.to_ir(), options=RunOptions(home=tmp_path))

    def record(mean: float) -> dict[str, object]:
        return {"mean": mean, "name": 'a "b"', "kind": "wide"}

    assert result.outputs == {
        "whole": record(1.5),
        "again": record(1.5),
        "name": 'a "b"',
        "all": [record(0.5), record(1.0)],
        "inner": record(4.5),
    }


def test_a_record_with_files_is_given_out_by_its_fields() -> None:
    with couler.Workflow("w") as wf:
        wf.output("made", make())
    [problem] = wf.diagnostics
    assert (problem.code, "read one of its outputs: size, file" in problem.message) == (
        "CLR115",
        True,
    )
