"""Steps may be named like anything that a file imports, carries or makes for itself."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

import pytest

from couler.backends.airflow import AirflowBackend
from couler.ir.defaults import resolve_defaults
from couler.ir.walk import all_steps
from couler.ir.workflow import Workflow
from couler.stages.checks import check_engine
from tests.backends.airflow.absences import REFUSED
from tests.backends.airflow.files import places_of
from tests.corpus import cases
from tests.corpus.build import sh
from tests.support.airflow_target import with_files

BACKEND = AirflowBackend()
TARGET = with_files()


def file_of(workflow: Workflow) -> str:
    workflow = resolve_defaults(workflow)
    assert check_engine(workflow, BACKEND, TARGET) == ()
    return BACKEND.compile(workflow, TARGET).to_text()


def bound(text: str) -> Iterator[str]:
    """Yield the names that a file gives to something, as often as it does: not those in functions.

    The function of a mapped group is a part of its DAG.
    """
    nodes: list[ast.AST] = [ast.parse(text)]
    while nodes:
        node = nodes.pop()
        match node:
            case ast.alias():
                yield node.asname or node.name
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case ast.FunctionDef() | ast.ClassDef():
                yield node.name
                if not getattr(node, "decorator_list", ()):
                    continue
            case ast.ListComp():
                continue
        nodes += ast.iter_child_nodes(node)


def loads(text: str) -> None:
    twice = [name for name, count in Counter(bound(text)).items() if count > 1]
    assert twice == []
    assert places_of(text)


@pytest.mark.slow
def test_steps_with_all_names_of_a_file() -> None:
    """Of the corpus, the cases whose files import or carry what no file before them did."""
    seen: set[str] = set()
    for case in cases():
        if case.name in REFUSED:
            continue
        steps = {one.name.replace("-", "_") for one in all_steps(case.workflow)}
        text = file_of(case.workflow)
        carried = {*bound(text.partition("# Above: ")[0])}
        if not carried <= seen:
            names = {name for name in bound(text) if name[0].isalpha()} - steps
            more = (*(sh(name, "true") for name in sorted(names)), *case.workflow.steps)
            loads(file_of(case.workflow.model_copy(update={"steps": more})))
        seen |= carried
