"""DAG files are formatted and linted as ruff would have them."""

from __future__ import annotations

import ast
import io
import tokenize
import typing as t
from collections import Counter

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.airflow.module import Module
from couler.backends.base import Target
from couler.errors import CoulerError
from couler.ir.defaults import resolve_defaults
from couler.ir.workflow import Container, Group, Output, Script, Step, Workflow
from couler.stages.checks import check_engine
from tests.backends.airflow.ruff import formatted, linted
from tests.corpus import cases
from tests.corpus.build import compare, first_of, flow, group, out, part, ref, sh

pytestmark = pytest.mark.checkout  # which has ruff

BACKEND = AirflowBackend()
RULES = "E,F,I,B,UP,AIR"
LONGEST_TEXT = 60
"""A line with a longer text may be too long: texts are not cut."""
IN_GROUPS = {"when", "items", "end"}
"""Tasks of the compiler's own: variables have the name of the group before it, as ids do."""


def compiled(workflow: Workflow) -> str | None:
    """Return the DAG file, or None where the workflow is refused."""
    workflow = resolve_defaults(workflow)
    try:
        check_engine(workflow, BACKEND, Target())
    except CoulerError:
        return None
    return BACKEND.compile(workflow, Target()).to_text()


def problems(source: str) -> list[str]:
    """Return what ruff finds, apart from long texts and from names that no variable can have."""
    found = []
    for one in linted(source, RULES):
        code, row = one["code"], one["location"]["row"]
        if code == "E501" and row in rows_with_long_texts(source):
            continue
        if code == "AIR001" and one["message"].split('"')[1] in ids_without_variable(source):
            continue
        found.append(f"{code} {row}: {one['message']}")
    return found


def rows_with_long_texts(source: str) -> set[int]:
    rows: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        first, last = token.start[0], token.end[0]
        if token.type == tokenize.STRING and (last > first or len(token.string) > LONGEST_TEXT):
            rows.update(range(first, last + 1))
    return rows


def ids_without_variable(source: str) -> set[str]:
    """Return the ids that are no names, that mean something else, or that are of two tasks."""
    ids = Counter(
        keyword.value.value
        for keyword in ast.walk(ast.parse(source))
        if isinstance(keyword, ast.keyword)
        and keyword.arg == "task_id"
        and isinstance(keyword.value, ast.Constant)
    )
    return IN_GROUPS | {one for one, count in ids.items() if count > 1 or Module().name(one) != one}


def check(source: str) -> None:
    assert formatted(source) == source
    found = problems(source)
    assert found == []


@pytest.mark.slow
def test_corpus() -> None:
    sources = {case.name: compiled(case.workflow) for case in cases()}
    written = {name: source for name, source in sources.items() if source is not None}
    assert len(written) > 50
    for name, source in written.items():
        assert formatted(source) == source, name
        found = problems(source)
        assert found == [], name


def container(name: str, *words: str, **fields: t.Any) -> Step:
    return Step(name=name, action=Container(image="a", command=("echo", *words)), **fields)


def test_names() -> None:
    """No name of a step takes another meaning away."""
    names = [
        *("l", "O", "I", "a", "A", "class", "None", "match", "print", "list", "json", "k8s"),
        *("DAG", "literal", "output", "process", "PROCESS", "ti", "dag", "params", "Any", "type"),
        *("a-step-with-dashes", "KubernetesPodOperator", "x" * 128, "run-status", "TaskGroup"),
    ]
    inner = [container(name) for name in names]
    last = Step(
        name="all",
        action=Script(image="a", command=("sh",), source="true\nfalse\n"),
        outputs=(Output(name="result"),),
        depends_on=tuple(names),
    )
    group = Step(name="group", action=Group(steps=tuple(inner)), depends_on=("all",))
    workflow = Workflow(name="names", steps=(*inner, last, group))
    source = compiled(workflow)
    assert source is not None
    check(source)


def test_functions_that_evaluate_outputs_of_groups() -> None:
    options = (part(ref("a"), "k"), part(ref("b"), "k"), part(ref("c"), "k"))
    inner = (sh(name, "true", when=compare("a", "==", "b")) for name in "abc")
    group_ = group("of-several", *inner, outputs=[out("x", source=first_of(*options))])
    text = compiled(flow("sample", group_))
    assert text is not None
    assert "        else (\n" in text
    assert formatted(text) == text
    assert not problems(text)
