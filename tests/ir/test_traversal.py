"""What a field of a step takes part in as soon as its model declares it."""

from __future__ import annotations

import typing as t

import pytest

from couler.ir import uses
from couler.ir.base import Node
from couler.ir.cachekey import definition_digest, key_fields, texts_of
from couler.ir.features import Feature
from couler.ir.graph import Graph
from couler.ir.pods import PodContainer
from couler.ir.rewrite import map_values
from couler.ir.storage import SecretKey
from couler.ir.traversal import Traversal
from couler.ir.uses import features, needs
from couler.ir.values import TEXTS, Literal, ParamRef, StepRef, Text, Value
from couler.ir.verify import verify
from couler.ir.walk import predecessors, read_values
from couler.ir.workflow import Step
from tests.corpus.build import flow, ref, sh


class Note(Node):
    """Something that a step says, and to whom."""

    name: str
    text: Text
    token: SecretKey | None = None


class NotedStep(Step):
    """A step with a field that no module of the product knows."""

    banner: Text | None = None
    notes: tuple[Note, ...] = ()


PLAIN = sh("b", "true")
NOTED = NotedStep(
    name="b",
    action=PLAIN.action,
    banner=ref("a"),
    notes=(Note(name="end", text="done", token=SecretKey(secret="chat", key="token")),),
)


def noted(**fields: t.Any) -> NotedStep:
    return NOTED.model_copy(update=fields)


def test_visit_finds_what_it_holds_by_field_paths() -> None:
    found = TEXTS.visit(NOTED)
    assert [one for one in found if one[0] not in ("command", "args")] == [
        ("banner", ref("a")),
        ("notes.end.text", "done"),
    ]
    entries: Traversal[SecretKey] = Traversal(SecretKey)
    assert [path for path, _ in entries.visit(NOTED)] == ["notes.end.token"]


def test_map_replaces_what_it_holds() -> None:
    made = map_values(NOTED, lambda value: Literal(value="x"))
    assert made == noted(banner=Literal(value="x"))
    assert map_values(NOTED, lambda value: value) is NOTED


def test_what_it_reads_comes_before() -> None:
    assert predecessors(NOTED) == ("a",)
    assert Graph.of((sh("a", "true"), NOTED)).successors == {"a": ("b",), "b": ()}


def test_it_counts_in_the_key_of_a_cache() -> None:
    def key(step: Step) -> tuple[str, list[Text]]:
        texts = [text for name in key_fields(step) for text in texts_of(step, name)]
        return definition_digest(step, {}), texts

    digest, texts = key(NOTED)
    assert texts[-2:] == [ref("a"), "done"]
    others = [noted(banner=None), noted(notes=()), PLAIN]
    assert len({digest, *(key(step)[0] for step in others)}) == 4
    assert key(noted(banner=ref("c")))[0] == digest


def test_verification_names_it() -> None:
    steps = (
        sh("a", "true"),
        noted(banner=ref("missing"), notes=(Note(name="n", text=ref("a", "o")),)),
    )
    told = [one.message for one in verify(flow("w", *steps))]
    assert any("banner" in one and "missing" in one for one in told)
    assert any("notes.n.text" in one for one in told)


def test_its_feature_is_a_line_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    workflow = flow("w", sh("a", "true"), NOTED)
    assert Feature.LABELS not in features(workflow)
    monkeypatch.setitem(uses.FEATURES, NotedStep, {"banner": Feature.LABELS})
    uses._entries.cache_clear()
    assert Feature.LABELS in features(workflow)
    assert Feature.LABELS not in features(flow("w", sh("a", "true"), noted(banner=None)))
    uses._entries.cache_clear()


def test_the_secrets_that_it_names_must_exist() -> None:
    found = needs(flow("w", sh("a", "true"), NOTED))
    assert [str(need) for need in found] == ['secret "chat" with the keys token must exist']


NAMES = ("when", "inputs", "metrics", "local", "foreach", "manifest")


@pytest.mark.parametrize("name", NAMES)
def test_a_container_is_checked_whatever_its_name_is(name: str) -> None:
    """Paths begin with the names of containers, which may be those of fields."""
    beside = PodContainer(name=name, image="busybox", args=(ParamRef(name="missing"),))
    workflow = flow("w", PLAIN.model_copy(update={"sidecars": (beside,)}))
    [found] = verify(workflow)
    assert found.code == "CLR161"
    assert f"{name}.args" in found.message


def test_values_in_values_are_not_those_that_a_step_reads() -> None:
    inner: Value = StepRef(step="a")
    assert read_values(noted(banner=inner)) == [inner]
