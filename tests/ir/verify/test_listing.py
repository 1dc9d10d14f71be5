"""What is wrong with lists of files."""

from __future__ import annotations

import typing as t

import pytest

from couler.ir.artifacts import (
    GitLocation,
    HttpLocation,
    ListFiles,
    Location,
    RawLocation,
    S3Location,
)
from couler.ir.policies import Cache, Foreach, Resources, Retry
from couler.ir.values import ItemRef, Literal, ParamRef, StepRef
from couler.ir.workflow import Input, Output, Step
from tests.support.sample_flows import ITEM, echo, flow
from tests.support.verification import codes

KEYS = (Output(type="list"),)
S3 = S3Location(key="in", bucket="data")


def lists(at: Location = S3, pattern: str | None = None, **fields: t.Any) -> Step:
    action = ListFiles(at=at, pattern=pattern)
    return Step(name="a", action=action, **{"outputs": KEYS, **fields})


def test_good_lists() -> None:
    each = echo("each", ITEM, foreach=Foreach(over={"item": StepRef(step="a")}))
    assert codes(flow(lists(pattern="**/*", retry=Retry(limit=1), timeout_s=5), each)) == []
    over = Foreach(over={"item": Literal(value=("x", "y"))})
    assert codes(flow(lists(S3Location(key=ItemRef(), bucket="data"), foreach=over))) == []


@pytest.mark.parametrize(
    "at",
    [
        GitLocation(repository="https://example.org/a.git"),
        HttpLocation(url="https://example.org/"),
        RawLocation(content="x"),
    ],
)
def test_places_without_lists(at: Location) -> None:
    assert codes(flow(lists(at))) == ["CLR468"]


def test_a_list_waits_for_files_that_steps_put_there() -> None:
    kept = Output(name="f", type="file", path="f", at=S3Location(key="in/f", bucket="data"))
    make = echo("m", outputs=(kept,))
    assert codes(flow(make, lists())) == ["CLR466"]
    assert codes(flow(make, lists(depends_on=("m",)))) == []


def test_what_cannot_be() -> None:
    assert codes(flow(lists(pattern="["))) == ["CLR468"]
    assert codes(flow(lists(outputs=()))) == ["CLR468"]
    assert codes(flow(lists(outputs=(Output(),)))) == ["CLR169"]
    assert codes(flow(lists(outputs=(*KEYS, Output(name="n", type="list"))))) == ["CLR169"]
    assert codes(flow(lists(S3Location(key="/in")))) == ["CLR461"]
    assert codes(flow(lists(S3Location(key=ParamRef(name="day"))))) == ["CLR161"]
    assert codes(flow(lists(cache=Cache()))) == ["CLR410"]
    assert codes(flow(lists(resources=Resources(cpu="1")))) == ["CLR410"]
    given = (Input(name="x", value=Literal(value="y")),)
    assert codes(flow(lists(inputs=given))) == ["CLR410"]
