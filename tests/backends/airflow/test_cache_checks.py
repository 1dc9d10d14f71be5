"""Caches that Airflow cannot keep: refused, with what to do instead."""

from __future__ import annotations

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.artifacts import S3Location
from couler.ir.defaults import resolve_defaults
from couler.ir.pods import PodContainer
from couler.ir.policies import Cache
from couler.ir.workflow import ContainerSet, Http, Output, Step
from tests.corpus.build import flow, listing, sh

BUCKET = {"s3": {"bucket": "data"}}
IMAGE = {"io_image": "couler"}
VOLUME = Target(options={"files_claim": "files", **IMAGE})
FIRST = PodContainer(name="first", image="busybox", command=("true",))


def problems(step: Step, target: Target) -> list[tuple[str, str]]:
    """Codes and messages of what is refused of a step with a cache."""
    workflow = resolve_defaults(flow("w", step.model_copy(update={"cache": Cache()})))
    return [(one.code, one.message) for one in AirflowBackend().check(workflow, target)]


@pytest.mark.parametrize(
    ("target", "advice"),
    [
        (VOLUME, None),
        (Target(options=IMAGE, storages=BUCKET), None),
        (Target(), "Give the option files_claim=NAME"),
        (Target(options=IMAGE), "Give the option files_claim=NAME"),
        (Target(storages=BUCKET), "Give the option io_image=IMAGE"),
    ],
)
def test_entries_need_a_place(target: Target, advice: str | None) -> None:
    found = problems(sh("a", "echo 1"), target)
    assert [code for code, _ in found] == ([] if advice is None else ["CLR354"])
    assert all(f"{advice}" in message for _, message in found)


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (Step(name="a", action=Http(url="http://example.org")), "runs no process of its own"),
        (listing("a", "f"), "runs no process of its own"),
        (sh("a", "true", init_containers=(FIRST,)), 'runs the container "first" before'),
        (
            Step(
                name="a",
                action=ContainerSet(
                    containers=(
                        FIRST,
                        FIRST.model_copy(update={"name": "main", "depends_on": ("first",)}),
                    )
                ),
            ),
            'runs the container "first" before',
        ),
        (
            sh(
                "a",
                "true",
                outputs=[Output(name="f", type="file", path="f", at=S3Location(key="k"))],
            ),
            'puts its output "f" at a place besides',
        ),
    ],
)
def test_what_no_entry_can_stand_for_has_no_cache(step: Step, reason: str) -> None:
    [(code, message)] = problems(step, VOLUME)
    assert code == "CLR382"
    assert reason in message
