"""A number in a flat record that a function returns is found by its name."""

from __future__ import annotations

import json
from dataclasses import dataclass

import couler
from couler import stages


@dataclass
class Flat:
    name: str
    error: float
    rounds: int | None


@dataclass
class Nested:
    flat: Flat
    error: float


@dataclass
class Both:
    flat: Flat
    nested: Nested


@couler.step
def both() -> Both:
    flat = Flat('"error":2,}', 1e-05, None)
    return Both(flat, Nested(flat, 0.5))


@couler.step
def shown(error: float, inner: float, rounds: int | None) -> str:
    return f"{error} {inner} {rounds}"


def test_a_number_is_found_by_its_name_where_no_other_key_can_be_it() -> None:
    with couler.Workflow("records") as workflow:
        made = both()
        shown(made.flat.error, made.nested.error, made.flat.rounds)
    spec = json.loads(stages.compile(workflow, "argo", format="json").to_text())["spec"]
    task = spec["templates"][0]["dag"]["tasks"][1]
    error, inner, rounds = (one["value"] for one in task["arguments"]["parameters"])
    assert "split(split(trim(tasks.both.outputs.parameters.flat, '{}'), '\"error\":')[1]" in error
    assert all("regexFindAll" in one and "split(split(trim" not in one for one in (inner, rounds))
