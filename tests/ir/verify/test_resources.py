"""Conditions on the fields of a resource, and JSONPaths: what the cluster reads is taken."""

from __future__ import annotations

import inspect

import pytest

import couler
from couler.ir.verify.resources import condition_problem, json_path_problem
from tests.dsl.look import problems


@pytest.mark.parametrize(
    "condition",
    [
        "status.succeeded > 0",
        "status.phase == Succeeded",
        "status.phase=Succeeded",
        "status.phase in (Failed, Error)",
        "status.phase notin (Pending,Running),status.active<1",
        "status.completionTime",
        "!status.completionTime",
        "status.conditions.0.type == Complete, status.conditions.0.status == True",
        "status.message=",
        "status.phase in (,a)",
        "metadata.labels.example.com/done != yes",
    ],
)
def test_conditions_that_argo_reads(condition: str) -> None:
    assert condition_problem(condition) is None


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("status.succeeded >= 1", "there is no >="),
        ("status.succeeded <= 1", "there is no <="),
        ("status.a == b && status.c == d", "not joined by &&, but by commas"),
        ("status.a == b or status.c == d", "not joined by or"),
        ("status.phase == 'Succeeded'", "without quotes"),
        ('status.conditions.#(type=="Complete").status == True', "no filters"),
        ("status.conditions[0].type == Complete", "no path of a field"),
        ("status.phase Succeeded", "neither a comparison nor a comma"),
        ("status.succeeded > many", "with a whole number, not with 'many'"),
        ("status.succeeded > -1", "with a whole number"),
        ("status.succeeded >", "not with nothing"),
        ("status.phase in Succeeded", "values in parentheses"),
        ("status.phase in (Succeeded", "not closed"),
        ("status.phase == a/b", "is no value"),
        (",status.phase", "a part is empty"),
        ("status.phase,", "a part is empty"),
        ("status.phase ==", None),
        (f"status.{'x' * 60}", "63"),
    ],
)
def test_conditions_that_argo_does_not_read(condition: str, words: str | None) -> None:
    found = condition_problem(condition)
    if words is None:
        assert found is None
    else:
        assert found is not None
        assert words in found


@pytest.mark.parametrize(
    "path",
    [
        "{.status.phase}",
        "{@}",
        "{$.status}",
        "{.status.conditions[0].type}",
        "{.status.conditions[-1:].type}",
        "{.items[*].metadata.name}",
        '{.status.conditions[?(@.type=="Ready")].status}',
        "{.metadata.annotations['a.b/c']}",
        '{.metadata["name","uid"]}',
        r"{.metadata.annotations.example\.com/x}",
        '{range .items[*]}{.metadata.name}{"\\n"}{end}',
        "phase: {.status.phase}",
        "{..image}",
        '{.x[?(@.a=="]")].b}',
    ],
)
def test_paths_that_kubectl_reads(path: str) -> None:
    assert json_path_problem(path) is None


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (".status.phase", "Write {.status.phase}"),
        ("status.phase", "Write {.status.phase}"),
        ("{status.phase}", "Write {.status.phase}"),
        ("{}", "does not begin with a point"),
        ("{.status.phase", "no } where"),
        ("{.status.conditions[0.type}", "no ] where"),
        ("{.status.conditions[].type}", "has []"),
        ("{.status.conditions[type].x}", "has [type]"),
        ("{.status.conditions[@.type==1].x}", "a filter such"),
        ("{.metadata['name}", "not closed"),
        ("", "no part in braces"),
    ],
)
def test_paths_that_kubectl_does_not_read(path: str, words: str) -> None:
    found = json_path_problem(path)
    assert found is not None
    assert words in found


def test_they_are_told_with_their_line() -> None:
    frame = inspect.currentframe()
    assert frame is not None
    with couler.Workflow("w") as wf:
        line = frame.f_lineno + 1
        job = couler.run_job(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"}},
            "status.phase == 'Succeeded'",
            "status.restarts >= 3",
            step_name="pod",
            outputs={"phase": ".status.phase"},
        )
        wf.output("phase", job.phase)
    found = problems(wf)
    assert sorted(one.code for one in found) == ["CLR169", "CLR419", "CLR419"]
    for one in found:
        assert one.source is not None
        assert (one.step, one.source.line) == ("pod", line)
    assert "success_condition \"status.phase == 'Succeeded'\": the value" in " ".join(
        one.message for one in found
    )
    assert "outputs.phase has a json_path that has no part in braces" in " ".join(
        one.message for one in found
    )
