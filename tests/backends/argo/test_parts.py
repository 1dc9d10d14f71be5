"""Parts of scopes on Argo: nested DAGs that hand on how their steps ended and what these made."""

from __future__ import annotations

import json
import re
import typing as t
from collections import Counter

import pytest
from hypothesis import assume, given, settings, strategies as st

from couler.backends.argo import ArgoBackend
from couler.backends.argo.parts import (
    HELPER_TEMPLATES,
    PART_TEMPLATE,
)
from couler.backends.base import Target
from couler.errors import InvalidWorkflowError, UnsupportedFeatureError
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Part
from couler.ir.verify import verify
from couler.ir.walk import all_steps
from couler.ir.workflow import Step, Workflow
from couler.stages.checks import check_engine
from tests.backends.argo.absences import REFUSED
from tests.corpus import cases
from tests.corpus.build import flow, group, ref, sh
from tests.support import argo_schema
from tests.support.divisions import divided
from tests.support.mill_of_flows import Mill

BACKEND = ArgoBackend()


def compiled(workflow: Workflow, *, format: str = "yaml") -> str:
    workflow = resolve_defaults(workflow)
    check_engine(workflow, BACKEND, Target())
    return BACKEND.compile(workflow, Target(), format=format).to_text()


def templates(workflow: Workflow) -> dict[str, t.Any]:
    spec = json.loads(compiled(workflow, format="json"))["spec"]
    return {template["name"]: template for template in spec["templates"]}


def tasks(template: t.Any) -> dict[str, t.Any]:
    return {task["name"]: task for task in template["dag"]["tasks"]}


def in_part(group: str, *names: str, **fields: t.Any) -> list[Step]:
    return [sh(name, "true", part=Part(group=group), **fields) for name in names]


def test_the_steps_of_a_part_are_in_one_template() -> None:
    found = templates(flow("f", *in_part("1", "a", "b"), *in_part("2", "c"), sh("d", "true")))
    assert [*tasks(found["main"])] == ["g1", "d", "p1", "p2", "ends"]
    assert tasks(found["main"])["p1"]["template"] == "couler-part-1"
    assert [*tasks(found["couler-part-1"])] == ["a", "b", "g2", "ends"]
    assert [*tasks(found["couler-part-2"])] == ["c", "ends"]


def test_an_edge_between_parts_is_a_gate_that_is_skipped_if_it_lets_through() -> None:
    found = templates(flow("f", *in_part("1", "a"), *in_part("2", "b", depends_on=["a"])))
    gate = tasks(found["couler-part-2"])["g2"]
    assert gate["when"] == "{{='arm' contains inputs.parameters.s1[0:1]}}"
    assert tasks(found["couler-part-2"])["b"]["depends"] == "g2.Skipped"
    assert tasks(found["main"])["p2"]["depends"] == "p1"


def test_a_text_goes_into_parts_by_expressions() -> None:
    reader = sh("read", "true", ref("say"), part=Part(run="r", group="g"))
    workflow = resolve_defaults(flow("f", sh("say", "date"), reader))
    found = BACKEND.compile(workflow, Target(), format="json")
    texts = re.findall(r'\{"name":"v[0-9]+","value":"([^"]*)"', found.to_text())
    assert len(texts) == 3  # into the run, to its steps, and into the group among them
    assert all(text.startswith("{{=") for text in texts)


def test_a_bound_of_a_group_holds_with_one_part_at_a_time() -> None:
    inner = [*in_part("1", "a", "b", "c"), *in_part("2", "d", "e")]
    found = templates(flow("f", group("g", *inner, max_parallel=2)))
    bounds = {name: found[name]["parallelism"] for name in ("g", "couler-part-1", "couler-part-2")}
    assert bounds == {"g": 1, "couler-part-1": 2, "couler-part-2": 2}


def test_a_daemon_is_in_one_group_with_the_steps_that_need_it() -> None:
    def workflow(reader: str) -> Workflow:
        return flow(
            "f",
            sh("serve", "sleep 60", daemon=True, result=None, part=Part(group="1")),
            *in_part(reader, "ask", depends_on=["serve"]),
        )

    assert "couler-part-1" in templates(workflow("1"))
    with pytest.raises(InvalidWorkflowError) as refused:
        compiled(workflow("2"))
    [told] = refused.value.diagnostics
    assert (told.code, told.step) == ("CLR324", "serve")


def test_names_of_tasks_of_parts_and_gates_are_none_of_steps() -> None:
    steps = [
        *in_part("1", "p1", "ends", "g1"),
        *in_part("2", "g2", depends_on=["p1"]),
    ]
    workflow = flow("f", *steps)
    found = templates(workflow)
    assert not {*tasks(found["main"])} & {"p1", "ends", "g1", "g2"}
    assert [*tasks(found["couler-part-2"])] == ["g3", "g2", "ends-2"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_api_server_takes_the_corpus_in_parts(seed: int) -> None:
    for case in cases():
        if case.name in REFUSED:
            continue
        workflow = divided(case.workflow, seed, runs=False)
        if any(step.part is not None for step in all_steps(workflow)):
            manifest = json.loads(compiled(workflow, format="json"))
            assert argo_schema.problems(manifest) == [], case.name


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32))
def test_every_step_is_in_the_template_of_its_part(seed: int) -> None:
    flat = Mill(seed).workflow()
    assume(not any(found.severity == "error" for found in verify(flat)))
    workflow = divided(flat, seed, runs=False)
    try:
        before = json.loads(compiled(flat, format="json"))
    except (InvalidWorkflowError, UnsupportedFeatureError):
        assume(False)
    after = json.loads(compiled(workflow, format="json"))
    # The same templates run something, and each as often.
    assert _calls(before) == _calls(after)


def _calls(manifest: t.Any) -> Counter[str]:
    return Counter(
        task["template"]
        for template in manifest["spec"]["templates"]
        for task in template.get("dag", {}).get("tasks", [])
        if task["template"] not in HELPER_TEMPLATES
        and not task["template"].startswith(PART_TEMPLATE)
    )
