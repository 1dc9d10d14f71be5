"""Values of a wrong kind are told of, with a code and a place, and never taken for others."""

from __future__ import annotations

import typing as t

import pytest

import couler
from couler.ir.values import And, Compare, Literal, Not, Or, StepRef
from tests.dsl.look import box, codes, implicit, problems, steps


@pytest.mark.parametrize("text", ["a\0b", "half \ud800"])
def test_text_that_no_process_can_be_given_is_refused_where_it_is(text: str) -> None:
    @couler.step
    def use(value: str, parts: list[str], table: dict[str, str]) -> str:
        return value

    with couler.Workflow("w", start=text) as wf:
        use(text, [text], {text: "x"})
        couler.run_container("busybox", ["echo", text], env={"X": text}, step_name="container")
        couler.run_script("busybox", source=f"echo {text}", step_name="script")
        couler.run_container(f"busy{text}", ["true"], step_name="image", working_dir="/a")
        couler.run_container("busybox", ["true"], step_name="folder", working_dir=f"/{text}")
        couler.run_job({"kind": "Pod", "metadata": {"name": text}}, step_name="manifest")
        wf.output("end", couler.text("{} " + text, use("", [], {})))
    found = [one.step for one in problems(wf) if one.code == "CLR103"]
    assert found == [None, "use", "container", "script", "image", "folder", "manifest"]


@pytest.mark.parametrize("option", ["packages", "command"])
@pytest.mark.parametrize("wrong", [3, [3], {"a": "b"}])
def test_lists_of_texts_hold_texts(option: str, wrong: object) -> None:
    def made() -> int:
        return 1

    with couler.Workflow("w") as wf:
        couler.step(**{option: wrong})(made)()
        couler.run_script("python", source="pass", step_name="script", **{option: wrong})
    assert [one.code for one in wf.diagnostics] == ["CLR105", "CLR105"]
    assert all(option in one.message for one in wf.diagnostics)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"max_parallel": 0}, "max_parallel"),
        ({"max_parallel": "3"}, "max_parallel"),
        ({"description": 3}, "description"),
        ({"labels": {"a": 1}}, "labels.a"),
        ({"labels": 3}, "labels"),
        ({"annotations": ["a"]}, "annotations"),
        ({"engine": {"argo": {"spec": object()}}}, "engine"),
        ({"service_account": 3}, "service_account"),
        ({"schedule": 3}, "schedule"),
        ({"defaults": 3}, "defaults"),
        ({"defaults": couler.StepDefaults(image=3)}, "image"),
        ({"params": 3}, "params"),
        ({"params": {3: 4}}, "parameter"),
        ({"size": couler.Parameter(1, choices=3)}, "parameter size"),
        ({"size": couler.Parameter(1, description=3)}, "parameter size"),
        ({"name": 3}, "name"),
    ],
)
def test_wrong_fields_of_a_workflow_hide_nothing_else(
    arguments: dict[str, t.Any], what: str
) -> None:
    with couler.Workflow(**{"name": "w", **arguments}) as wf:
        box("a", timeout="soon")
    first, second = problems(wf)
    assert (first.code, second.code) == ("CLR105", "CLR105")
    assert what in first.message
    assert first.source.file.endswith("test_wrong_values.py")


def test_wrong_settings_of_the_ancestor_are_told_of() -> None:
    couler.config_workflow(name=3, service_account=3, cron_config=3, labels=3, max_parallel=0)
    couler.config_workflow(cron_config={"schedule": "0 0 * * *", "failed_jobs_history_limit": "x"})
    couler.set_dns(policy=3)
    couler.workflow.set_security_context(3)
    couler.workflow.service_account = 3
    box("a")
    assert codes(implicit()) == ["CLR105"] * 9


def test_wrong_bounds_are_told_of() -> None:
    @couler.step
    def double(n: int) -> int:
        return 2 * n

    with couler.Workflow("w") as wf:
        double.map([1, 2], max_parallel=-1)
        couler.map(lambda n: double(n), [1], max_parallel="2")
        with couler.loop(max_iterations=0) as rounds:
            rounds.while_(double(1) > 3)
        box("a", max_parallel=0)
    assert codes(wf) == ["CLR105"] * 4
    assert list(steps(wf)) == ["double", "double-2", "double-3", "a"]


def test_a_bool_of_the_workflow_is_negated_and_combined_as_a_condition() -> None:
    @couler.step
    def is_good() -> bool:
        return True

    with couler.Workflow("w") as wf:
        good = is_good()
        other = is_good()
        with couler.when(~good):
            box("not_it")
        with couler.when(good & ~other):
            box("both")
        with couler.when(good | other | (other == good)):
            box("any")
    built = steps(wf)
    assert isinstance(built["not_it"].when, Not)
    assert built["not_it"].when.item == Compare(
        left=StepRef(step="is_good", output="result"), op="==", right=Literal(value=True)
    )
    assert built["both"].when == And(
        items=(built["not_it"].when.item, Not(item=built["any"].when.items[1]))
    )
    assert isinstance(built["any"].when, Or)
    assert codes(wf) == []
