"""What comes out of the box is data of a stranger: nothing of it can hurt who reads it."""

from __future__ import annotations

import contextlib
import json
import typing as t

import pytest
from hypothesis import given, strategies as st

from couler.box.answer import ForgedError, read_answer
from couler.hidden import clean

STEP = {"name": "a", "action": {"kind": "container", "image": "x", "command": ["y"]}}
TREE = {"name": "x", "ir_version": "1", "steps": [STEP]}


def answer(**parts: object) -> bytes:
    return json.dumps({"workflow": TREE, "diagnostics": [], **parts}).encode()


def test_places_have_the_name_that_the_user_knows() -> None:
    place = {"file": "flow.py", "line": 3}
    tree = {**TREE, "source": place, "steps": [{**STEP, "source": {**place, "file": "other.py"}}]}
    told = {"code": "CLR001", "message": "m", "severity": "error", **place}
    found = read_answer(answer(workflow=tree, diagnostics=[told]), "flow.py", "flows/flow.py")
    assert found.workflow is not None
    assert str(found.workflow.source) == "flows/flow.py:3"
    assert str(found.workflow.steps[0].source) == "other.py:3"
    assert str(found.diagnostics[0].source) == "flows/flow.py:3"


@pytest.mark.parametrize(
    "result",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b"[]",
        b"{}",
        b'{"diagnostics": 3}',
        b'{"diagnostics": [], "workflow": NaN}',
        b'{"diagnostics": [], "workflow": 1e999}',
        b'{"diagnostics": [], "workflow": []}',
        b'{"diagnostics": [], "workflow": {"ir_version": "2"}}',
        b'{"diagnostics": [], "workflow": ' + b"[" * 100_000,
        b'{"diagnostics": [], "workflow": ' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}",
        b'{"diagnostics": [{"code": "CLR999", "message": "m", "severity": "error"}]}',
        b'{"diagnostics": [{"code": "CLR001", "message": 3, "severity": "error"}]}',
        b'{"diagnostics": [{"code": "CLR001", "message": "m", "severity": "fatal"}]}',
        b'{"diagnostics": [["CLR001"]]}',
        b'{"diagnostics": [{"code": ["CLR001"], "message": "m", "severity": "error"}]}',
        answer(workflow={**TREE, "extra": 1}),
        answer(workflow={**TREE, "name": "\ud800"}),
        answer(failed=3),
    ],
)
def test_other_forms_are_no_answer(result: bytes) -> None:
    with pytest.raises(ForgedError):
        read_answer(result, "flow.py", "flow.py")


def test_texts_are_bounded_and_cannot_move_a_cursor() -> None:
    told = {"code": "CLR001", "message": "\x1b[2J" + "m" * 9999, "severity": "error", "line": 1}
    found = read_answer(answer(diagnostics=[told] * 999), "f.py", "f.py").diagnostics
    assert len(found) == 200
    assert found[0].message.startswith("\ufffd[2J")
    assert len(found[0].message) == 2000


@pytest.mark.parametrize("text", ["\x1b]0;x\x07", "\r", "\x9b2J", "\u202e", "\u2028", "\ud800"])
def test_hidden_characters_are_shown(text: str) -> None:
    assert not set(clean(text)) & set(text) - set("]0;x2J")
    assert clean("a\n\tb é") == "a\n\tb é"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=12,
)
_KEYS = st.sampled_from(("workflow", "diagnostics", "failed", "outside", "code", "message", "line"))


@given(st.dictionaries(_KEYS, _JSON | st.just([{"code": "CLR001"}])) | _JSON)
def test_any_json_is_an_answer_or_forged(tree: t.Any) -> None:
    with contextlib.suppress(ForgedError):  # nothing else may come of it
        read_answer(json.dumps(tree).encode(), "f.py", "f.py")


@given(st.binary(max_size=60))
def test_any_bytes_are_an_answer_or_forged(result: bytes) -> None:
    with pytest.raises(ForgedError):
        read_answer(result, "f.py", "f.py")
