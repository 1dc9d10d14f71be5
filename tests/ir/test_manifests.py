"""Values in the manifests of jobs: what they read, and what verification says of them."""

from __future__ import annotations

import typing as t

import pytest

from couler.ir.cachekey import definition_digest
from couler.ir.defaults import use_local_forms
from couler.ir.serialize import read_json, write_json
from couler.ir.values import ItemRef, Literal, ManifestValue, StepRef, Value, filled, split
from couler.ir.walk import predecessors
from couler.ir.workflow import Container, Job, LocalForm, Output, Step, Workflow
from tests.corpus.build import flow, ref, sh
from tests.support.verification import codes, only

MANIFEST: dict[str, t.Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "spec": {"n": None, "args": ["--rate", None]},
}
N, RATE = ("spec", "n"), ("spec", "args", 1)


def job(*values: ManifestValue, **fields: t.Any) -> Step:
    return Step(name="train", action=Job(manifest=MANIFEST, values=values), **fields)


def given(path: tuple[str | int, ...], value: Value, **fields: t.Any) -> ManifestValue:
    return ManifestValue(path=path, value=value, **fields)


def test_a_job_waits_for_what_its_manifest_reads() -> None:
    train = job(given(N, ref("a"), type="int"), given(RATE, ref("b")))
    workflow = flow("w", sh("a", "true"), sh("b", "true"), train)
    assert predecessors(train) == ("a", "b")
    assert codes(workflow) == []
    assert read_json(write_json(workflow)) == workflow


def test_its_local_form_waits_for_the_same_steps() -> None:
    form = LocalForm(action=Container(image="a", command=("echo",), args=(ref("b"),)))
    train = job(given(N, ref("a"), type="int"))
    train = train.model_copy(update={"action": train.action.model_copy(update={"local": form})})
    workflow = flow("w", sh("a", "true"), sh("b", "true"), train)
    [_, _, local] = use_local_forms(workflow).steps
    assert local.depends_on == ("a",)
    assert set(predecessors(local)) == {"a", "b"}


def test_the_manifest_is_filled_as_it_was_split() -> None:
    tree = {"a": [{"b": b"1"}, "x"], "c": {"d": (b"2",)}}
    empty, values = split(tree, lambda one: isinstance(one, bytes))
    assert empty == {"a": [{"b": None}, "x"], "c": {"d": [None]}}
    assert values == [(("a", 0, "b"), b"1"), (("c", "d", 0), b"2")]
    assert filled(empty, values) == {"a": [{"b": b"1"}, "x"], "c": {"d": [b"2"]}}


def _reads_file(value: Value) -> Workflow:
    made = Output(name="model", type="file", path="/tmp/model")
    return flow("w", sh("a", "true", outputs=[made]), job(given(RATE, value)))


@pytest.mark.parametrize(
    ("workflow", "code", "words"),
    [
        (flow("w", job(given(("spec", "x"), Literal(value=1)))), "CLR438", "manifest.spec.x has"),
        (flow("w", job(given(("kind",), Literal(value="x")))), "CLR438", "hold null there"),
        (flow("w", job(given(("spec", "args", 2), Literal(value="")))), "CLR438", "args[2]"),
        (flow("w", job(given(("spec", 0), Literal(value="")))), "CLR438", "spec[0]"),
        (flow("w", job(*[given(N, Literal(value="x"))] * 2)), "CLR438", "given two values"),
        (flow("w", job(given(N, Literal(value="x"), type="int"))), "CLR175", "declared int"),
        (flow("w", job(given(N, StepRef(step="nn")))), "CLR160", "manifest.spec.n reads"),
        (flow("w", job(given(N, ItemRef()))), "CLR163", "no foreach"),
        (_reads_file(StepRef(step="a", output="model")), "CLR177", "manifest.spec.args[1]"),
    ],
)
def test_wrong_values_are_reported(workflow: Workflow, code: str, words: str) -> None:
    found = only(workflow)
    assert (found.code, found.step) == (code, "train")
    assert words in found.message


def test_the_digest_of_a_job_holds_places_but_no_values() -> None:
    one, other = (job(given(N, Literal(value=n), type="int")) for n in (1, 2))
    elsewhere = job(given(RATE, Literal(value=1), type="int"))
    assert definition_digest(one, {}) == definition_digest(other, {})
    assert definition_digest(one, {}) != definition_digest(elsewhere, {})
