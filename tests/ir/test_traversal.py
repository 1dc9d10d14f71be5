"""What a field of a step takes part in as soon as its model declares it."""

from __future__ import annotations

import typing as t

import pytest

from couler.ir import uses
from couler.ir.base import Node
from couler.ir.cachekey import definition_digest, key_fields, texts_of
from couler.ir.features import Feature
from couler.ir.pods import PodContainer
from couler.ir.storage import SecretKey
from couler.ir.traversal import Traversal
from couler.ir.uses import features, needs
from couler.ir.values import TEXTS, Literal, ParamRef, Text, map_children
from couler.ir.verify import verify
from couler.ir.walk import predecessors
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
    made = map_children(NOTED, lambda value: Literal(value="x"))
    assert made == noted(banner=Literal(value="x"))
    assert map_children(NOTED, lambda value: value) is NOTED


def test_what_it_reads_comes_before() -> None:
    assert predecessors(NOTED) == ("a",)


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
    monkeypatch.setitem(uses.FEATURES, NotedStep, {"banner": Feature.LABELS})
    assert Feature.LABELS in features(flow("w", sh("a", "true"), NOTED))
    assert Feature.LABELS not in features(flow("w", sh("a", "true"), noted(banner=None)))


def test_the_secrets_that_it_names_must_exist() -> None:
    found = needs(flow("w", sh("a", "true"), NOTED))
    assert [str(need) for need in found] == ['secret "chat" with the keys token must exist']


@pytest.mark.parametrize("name", ["when", "inputs", "metrics", "local", "foreach", "manifest"])
def test_a_container_is_checked_whatever_its_name_is(name: str) -> None:
    """Paths begin with the names of containers, which may be those of fields."""
    beside = PodContainer(name=name, image="busybox", args=(ParamRef(name="missing"),))
    [found] = verify(flow("w", PLAIN.model_copy(update={"sidecars": (beside,)})))
    assert f"{name}.args" in found.message


def test_a_field_that_was_given_its_default_counts_as_one_that_was_not() -> None:
    told = Step.model_construct(**dict(PLAIN))
    assert (TEXTS.visit(told), predecessors(told)) == (TEXTS.visit(PLAIN), predecessors(PLAIN))
    assert features(flow("w", told)) == features(flow("w", PLAIN))
