"""Values of a wrong kind are told of, with a code and a place, and never taken for others."""

from __future__ import annotations

import typing as t

import pytest

import couler
from couler.ir.conditions import And, Compare, Not, Or
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Resources, Retry
from couler.ir.values import Literal, StepRef
from tests.dsl.look import box, codes, implicit, problems, steps


def test_one_text_stands_for_a_list_of_one() -> None:
    @couler.step(packages="numpy", command="python3")
    def typed() -> int:
        return 1

    with couler.Workflow("w") as wf:
        typed()
        couler.run_script("python", "python3", "pass", packages="numpy", step_name="script")
    for step in steps(wf).values():
        assert (step.action.packages, step.action.command) == (("numpy",), ("python3",))


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


@pytest.mark.parametrize("status", ["sometimes", 3])
def test_exit_handlers_are_functions_for_a_known_end(status: t.Any) -> None:
    with couler.Workflow("w") as wf:
        box("a")
        wf.on_exit(3)
        wf.on_exit(lambda: box("b"), status=status)
    assert codes(wf) == ["CLR105", "CLR138"]
    assert "wf.on_exit(function)" in wf.diagnostics[0].message


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


def test_a_map_needs_a_function() -> None:
    with couler.Workflow("w"):
        with pytest.raises(couler.DefinitionError, match=r"CLR127.*3 is no function"):
            couler.map(3, [1])
        box("a")


def test_an_unknown_action_of_a_job_is_told_of() -> None:
    with couler.Workflow("w") as wf:
        couler.run_job({"kind": "Job"}, action="fly", step_name="a")
        couler.run_job({"kind": "Job"}, success_condition=3, step_name="b")
        couler.run_job({"kind": "Job", "spec": 3}, env={"A": object()}, step_name="c")
    assert [one.code for one in wf.diagnostics] == ["CLR105", "CLR105", "CLR105"]


@pytest.mark.parametrize("word", [float("nan"), object(), {1, 2}])
def test_words_without_a_json_form_are_told_of(word: object) -> None:
    with couler.Workflow("w") as wf:
        box("a", word)
        couler.run_script("python", source="pass", args=[word], step_name="b")
    assert codes(wf) == ["CLR103", "CLR103"]
    assert list(steps(wf)) == ["a", "b"]


@pytest.mark.parametrize(
    "compute",
    [
        lambda a: a + 1,
        lambda a: 1 + a,
        lambda a: "x" + a,
        lambda a: [1] + a[0],  # what a program may say
        lambda a: a - 1,
        lambda a: 2 * a,
        lambda a: a / 2,
        lambda a: a // 2,
        lambda a: a % 2,
        lambda a: "%s" % a,  # noqa: UP031  # what a program may say
        lambda a: 2**a,
        lambda a: -a,
    ],
)
def test_nothing_is_computed_while_the_workflow_is_built(
    compute: t.Callable[[t.Any], object],
) -> None:
    with couler.Workflow("w"):
        a = box("a")
        with pytest.raises(couler.DefinitionError, match=r"test_wrong_values.py:\d+  CLR114"):
            compute(a)


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


def test_a_wrong_resource_does_not_hide_the_others() -> None:
    with couler.Workflow("w") as wf:
        box("a", cpu=True, memory=2, disk="1Gi", gpu="a100")
        box("b", resources={"cpu": None, "gpu": "x", "memory": "1Gi"})
    assert [one.message.split(":")[1].strip() for one in wf.diagnostics] == [
        "cpu",
        "memory",
        "gpu",
        "resources",
        "resources",
    ]
    assert all(one.code == "CLR105" for one in wf.diagnostics)
    assert [one.resources for one in steps(wf).values()] == [
        Resources(disk="1Gi"),
        Resources(memory="1Gi", memory_limit="1Gi"),
    ]


def test_no_retries_stand_against_those_of_the_defaults() -> None:
    with couler.Workflow("w", defaults=couler.StepDefaults(retry=2)) as wf:
        box("a", retry=0)
        box("b")
    with couler.Workflow("v") as plain:
        box("a", retry=0)
    resolved = {one.name: one.retry for one in resolve_defaults(wf.to_ir()).steps}
    assert resolved == {"a": Retry(limit=0), "b": Retry(limit=2)}
    assert steps(plain)["a"].retry is None
    assert codes(wf) == codes(plain) == []


def test_the_ancestors_parallelism_of_a_container_has_no_effect() -> None:
    with couler.Workflow("w") as wf:
        box("a", parallelism=3)
    assert [(one.code, one.severity) for one in problems(wf)] == [("CLR106", "warning")]
    assert steps(wf)["a"].max_parallel is None


def test_the_name_of_a_step_is_known_when_the_workflow_is_built() -> None:
    def job(n: t.Any) -> t.Any:
        return couler.run_container("busybox", ["echo", n], step_name=n)

    with couler.Workflow("w") as wf:
        couler.map(lambda x: job(x), ["a", "b"])
        couler.run_script("python", source="pass", name=couler.text("a"), step_name=None)
        couler.run_job({"kind": "Job"}, step_name=wf.params.x)
    assert list(steps(wf)) == ["job", "python", "job-2"]
    assert [one.code for one in wf.diagnostics] == ["CLR105"] * 3
    assert wf.diagnostics[0].message == (
        'step "job": <couler value x> is known only when the workflow runs, but the name of a '
        "step must be a text that is known when the workflow is built"
    )
