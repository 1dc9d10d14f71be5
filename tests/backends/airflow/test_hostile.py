"""Texts of users reach processes unchanged, or are refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.ir.verify import verify
from couler.ir.workflow import Container, Step, Workflow
from tests.backends.airflow.hostile import COUNT, Batch, is_possible, texts
from tests.backends.airflow.pretend import Pretended

BACKEND = AirflowBackend()


@pytest.mark.slow
def test_texts_arrive_or_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = texts()
    possible = [text for text in found if is_possible(text)]
    impossible = [text for text in found if not is_possible(text)]
    assert len(found) == COUNT
    assert impossible
    batch = Batch(possible)
    workflow = resolve_defaults(batch.workflow)
    assert list(BACKEND.check(workflow, Target())) == []
    source = BACKEND.compile(workflow, Target()).to_text()
    pretended = Pretended(source, tmp_path)
    assert list(batch.differences(pretended.run())) == []
    places = [f"o{at}={path}o" for at, path in enumerate(batch.paths)]
    assert pretended.outputs["files"] == ["result=-", *places]
    steps = tuple(
        Step(name=f"s{at}", action=Container(image="a", command=("a", text)))
        for at, text in enumerate(impossible)
    )
    refused = verify(Workflow(name="refused", steps=steps))
    assert [one.code for one in refused] == ["CLR103"] * len(impossible)
    assert [one.step for one in refused] == [step.name for step in steps]
    with capsys.disabled():
        sys.stdout.write(f" {len(possible)} texts unchanged, {len(impossible)} refused ")
