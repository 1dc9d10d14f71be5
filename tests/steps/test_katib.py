"""Tuning by Katib: values of the workflow in what is tuned, and mistakes told before it starts."""

from __future__ import annotations

import typing as t

import pytest

import couler
from couler.ir.values import ParamRef, Template, filled
from couler.ir.workflow import Job
from couler.steps import katib
from tests.dsl.look import box, problems, steps

RATE: t.Any = {"name": "--lr", "type": "double", "range": [0.01, 0.03]}
LAYERS: t.Any = {"name": "layers", "type": "int", "range": [1, 4]}
OBJECTIVE: t.Any = {"type": "minimize", "metric_name": "loss"}


def tune(*params: t.Any, **options: t.Any) -> t.Any:
    given: dict[str, t.Any] = {
        "tuning_params": params or (RATE,),
        "objective": OBJECTIVE,
        "step_name": "tune",
    }
    if "raw_template" not in options:
        given.update(image="a:1", command="train")
    return katib.run(**{**given, **options})


def test_values_of_the_workflow_bound_what_is_tuned() -> None:
    with couler.Workflow("w", most=0.5, kinds="adam") as wf:
        least = box("least")
        tune(
            {**RATE, "range": [least, wf.params.most]},
            {"name": "kind", "type": "categorical", "range": ["sgd", wf.params.kinds]},
            algorithm_settings={"seed": wf.params.most},
        )
    assert [str(one) for one in problems(wf)] == []
    action = steps(wf)["tune"].action
    assert isinstance(action, Job)
    spec = filled(action.manifest, [(one.path, one.value) for one in action.values])["spec"]
    rate, kind = (one["feasibleSpace"] for one in spec["parameters"])
    assert rate["min"].step == "least"
    assert rate["max"] == Template(parts=(ParamRef(name="most"),))
    assert kind == {"list": ["sgd", ParamRef(name="kinds")]}
    assert "<couler" not in wf.compile("argo").to_text()


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (lambda: tune({**RATE, "range": [0.3, 0.1]}), "CLR105", "0.3 is not below 0.1"),
        (lambda: tune({**RATE, "range": [0.1]}), "CLR105", "its least and its greatest value"),
        (lambda: tune({**RATE, "range": ["a", 1]}), "CLR105", "'a' is no number"),
        (lambda: tune({**RATE, "range": [0, float("inf")]}), "CLR105", "inf is no number"),
        (lambda: tune({**RATE, "range": [0, 1, 0]}), "CLR105", "step"),
        (lambda: tune({**RATE, "range": [0, 1, 2]}), "CLR105", "step"),
        (lambda: tune({**LAYERS, "range": [0.5, 3]}), "CLR105", "0.5 is no whole number"),
        (lambda: tune({**LAYERS, "range": [True, 3]}), "CLR105", "True is no whole number"),
        (lambda: tune({**LAYERS, "range": "12"}), "CLR107", "range"),
        (lambda: tune({**RATE, "type": "categorical", "range": []}), "CLR105", "no values"),
        (lambda: tune({**RATE, "type": "categorical", "range": "ab"}), "CLR107", "range"),
        (lambda: tune({**RATE, "type": "categorical", "range": ["a", "a"]}), "CLR105", "twice"),
        (lambda: tune({**RATE, "type": "discrete", "range": ["a", 1]}), "CLR105", "no number"),
        (lambda: tune({**RATE, "type": "real"}), "CLR107", "'double'"),
        (lambda: tune({**RATE, "setp": 1}), "CLR107", "setp"),
        (lambda: tune({**RATE, "name": "--"}), "CLR105", "no name"),
        (lambda: tune({**RATE, "name": 'a"b'}), "CLR105", "no name"),
        (lambda: tune(RATE, RATE), "CLR105", '"--lr" is tuned twice'),
        (lambda: tune(RATE, {**RATE, "name": "lr"}), "CLR105", '"--lr" and "lr"'),
        (lambda: tune(RATE, {**RATE, "name": "value"}), "CLR105", "best_value"),
        (lambda: tune(tuning_params=()), "CLR105", "names no hyperparameter"),
        (lambda: tune(input_lr=3), "CLR105", '"lr" is tuned'),
        (lambda: tune(parallel_trial_count=0), "CLR105", "parallel_trial_count"),
        (lambda: tune(max_trial_count=0, parallel_trial_count=1), "CLR105", "max_trial_count"),
        (lambda: tune(max_failed_trial_count=-1), "CLR105", "max_failed_trial_count"),
        (lambda: tune(max_failed_trial_count=13), "CLR105", "max_failed_trial_count"),
        (lambda: tune(parallel_trial_count=13), "CLR105", "parallel_trial_count"),
        (lambda: tune(objective=None), "CLR101", '"objective" is missing'),
        (lambda: tune(objective={**OBJECTIVE, "gaol": 1}), "CLR107", "gaol"),
        (lambda: tune(objective={**OBJECTIVE, "metric_name": ""}), "CLR105", "metric_name"),
        (
            lambda: tune(objective={**OBJECTIVE, "additional_metric_names": ["loss"]}),
            "CLR105",
            '"loss"',
        ),
        (lambda: tune(algorithm="tpee"), "CLR105", 'Did you mean "tpe"?'),
        (lambda: tune(early_stopping="median"), "CLR105", 'Did you mean "medianstop"?'),
        (lambda: tune(early_stopping_settings={"a": 1}), "CLR106", "early_stopping"),
        (lambda: tune(algorithm="grid"), "CLR105", "a grid needs"),
    ],
)
def test_each_mistake_is_one_diagnostic(
    make: t.Callable[[], object], code: str, words: str
) -> None:
    with couler.Workflow("w") as wf:
        make()
    [problem] = problems(wf)
    assert (problem.code, problem.step) == (code, "tune")
    assert words in problem.message


def trial(kind: str) -> dict[str, t.Any]:
    return {"apiVersion": "x/v1", "kind": kind, "spec": {"lr": "${trialParameters.lr}"}}


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"image": "a:1", "command": "x"}, "CLR106", "image and command"),
        ({"env": {"A": "b"}}, "CLR106", "env"),
        ({"input_epochs": 3}, "CLR106", "input_epochs"),
        ({"raw_template": trial("RayJob")}, "CLR101", "trial_success_condition"),
        ({"raw_template": {"spec": "${trialParameters.lr}"}}, "CLR136", "apiVersion and no kind"),
    ],
)
def test_mistakes_with_a_template(options: dict[str, t.Any], code: str, words: str) -> None:
    with couler.Workflow("w") as wf:
        tune(**{"raw_template": trial("PyTorchJob"), **options})
    [problem] = problems(wf)
    assert (problem.code, problem.step) == (code, "tune")
    assert words in problem.message


def test_a_trial_of_another_kind_tells_when_it_has_ended() -> None:
    with couler.Workflow("w") as wf:
        tune(
            raw_template=trial("RayJob"),
            trial_success_condition="status.jobStatus",
            trial_failure_condition='status.conditions.#(type=="Failed")#',
        )
    assert [str(one) for one in problems(wf)] == []
    action = steps(wf)["tune"].action
    assert isinstance(action, Job)
    template = action.manifest["spec"]["trialTemplate"]
    assert template["successCondition"] == "status.jobStatus"
    assert template["failureCondition"] == 'status.conditions.#(type=="Failed")#'


def test_an_algorithm_of_the_cluster_is_taken_at_its_word() -> None:
    with couler.Workflow("w") as wf:
        tune(algorithm="ours", early_stopping="hyperstop")
    assert problems(wf) == []
