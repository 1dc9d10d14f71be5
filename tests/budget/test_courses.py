"""Which places of a workflow can be passed, and who reads them."""

from __future__ import annotations

import typing as t

import pytest

from couler.budget.courses import cached_places, course_of, passed_places
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Cache
from couler.ir.workflow import ExitHandler, Step, Workflow
from tests.corpus.build import compare, flow, given, group, or_else, out, ref, sh


def step(name: str, *of: str, cached: bool = True, **fields: t.Any) -> Step:
    inputs = [given(one, ref(one)) for one in of]
    return sh(name, "echo 1", inputs=inputs, cache=Cache() if cached else None, **fields)


CHAIN = (step("load"), step("clean", "load"), step("fit", "clean"))


def test_what_only_steps_with_a_cache_read_is_passed() -> None:
    workflow = flow("w", *CHAIN)
    assert passed_places(workflow) == {"load": ("clean",), "clean": ("fit",)}
    course = course_of(workflow, "w")
    assert (course.workflow, course.here) == ("w", "")
    assert course.ranks == cached_places(workflow) == {"load": 0, "clean": 1, "fit": 2}
    assert course.readers == passed_places(workflow)


@pytest.mark.parametrize(
    "reader",
    [
        step("other", "load", cached=False),
        step("other", "load", when=compare(1, "==", 1)),
        step("other", "load", foreach=[1, 2]),
    ],
    ids=["no cache", "a condition", "items"],
)
def test_what_others_read_too_is_not_passed(reader: Step) -> None:
    workflow = flow("w", *CHAIN, reader)
    assert passed_places(workflow) == {"clean": ("fit",)}


def test_what_is_read_from_outside_is_not_passed() -> None:
    last = ExitHandler(
        name="tell", on="success", steps=(sh("say", "true", or_else(ref("load"), "")),)
    )
    shown: list[Workflow] = [
        flow("w", *CHAIN, outputs=[out("o", "str", source=ref("load"))]),
        flow("w", *CHAIN, exit_handlers=(last,)),
    ]
    for workflow in shown:
        assert passed_places(resolve_defaults(workflow)) == {"clean": ("fit",)}


def test_groups_have_places_of_their_own() -> None:
    inner = group("g", *CHAIN, outputs=[out("o", "str", source=ref("clean"))])
    workflow = flow("w", step("load"), inner)
    assert passed_places(workflow) == {"g/load": ("g/clean",)}
