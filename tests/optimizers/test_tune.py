"""The pass `tune`: what it fills, what stays, what it refuses."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest

import couler
from couler import stages
from couler.errors import EngineOptionError, TuningError
from couler.ir.policies import Profile
from couler.ir.values import Literal, ParamRef, StepRef
from couler.ir.workflow import Group, Input, Parameter, Script, Step, Workflow
from couler.optimizers.base import PassContext, TunedParameters
from couler.optimizers.passes.tune import Tune
from couler.steps import sklearn, xgboost

SOURCE = "def fit(rate: float = 0.1, depth: int = 3, solver: str = 'adam'):\n    ...\n"
TRAINS = Profile(task="training")


def fit(*inputs: Input, **fields: t.Any) -> Step:
    action = Script(image="python", source=SOURCE, function="fit")
    return Step(**{"name": "fit", "action": action, "inputs": inputs, "profile": TRAINS, **fields})


def given(name: str, value: object, type_: t.Any = "json") -> Input:
    return Input(
        name=name, value=value if hasattr(value, "kind") else Literal(value=value), type=type_
    )


def tuned(
    workflow: Workflow, parameters: dict[str, t.Any], **options: t.Any
) -> tuple[Workflow, PassContext]:
    context = PassContext(tuned=lambda _: TunedParameters(parameters, "best of 12"))
    return Tune(outcome="tuned.yaml", **options).run(workflow, context), context


def values(workflow: Workflow, step: str = "fit") -> dict[str, t.Any]:
    found = next(one for one in workflow.steps if one.name == step)
    return {one.name: getattr(one.value, "value", one.value) for one in found.inputs}


def flow(*steps: Step, **fields: t.Any) -> Workflow:
    return Workflow(name="w", steps=steps, **fields)


def test_without_an_outcome_nothing_is_done() -> None:
    workflow, context = flow(fit()), PassContext(tuned=lambda _: pytest.fail("nobody asked"))
    assert Tune().run(workflow, context) is workflow
    assert context.reason == "No outcome of tuning is given, as in tune{outcome=tuned.yaml}."


def test_where_nobody_gives_outcomes_nothing_is_done() -> None:
    workflow, context = flow(fit()), PassContext()
    assert Tune(outcome="x").run(workflow, context) is workflow
    assert "Nobody" in context.reason


def test_what_the_program_sets_stays_unless_it_is_overridden() -> None:
    workflow = flow(fit(given("rate", 0.1, "float")))
    made, context = tuned(workflow, {"rate": 0.05})
    assert made is workflow
    assert context.step_reasons["fit"] == "rate stays: the program sets 0.1."
    assert "override=true" in context.reason
    made, context = tuned(workflow, {"rate": 0.05}, override=True)
    assert values(made) == {"rate": 0.05}
    assert context.step_reasons["fit"] == "rate 0.1 -> 0.05: best of 12."


def test_a_parameter_of_the_workflow_stays_and_is_told_by_its_name() -> None:
    workflow = flow(
        fit(given("rate", ParamRef(name="speed"), "float")),
        parameters=(Parameter(name="speed", type="float", default=0.1),),
    )
    made, context = tuned(workflow, {"rate": 0.05})
    assert made is workflow
    assert "it is the parameter speed; give -p speed=0.05" in context.step_reasons["fit"]
    assert values(tuned(workflow, {"rate": 0.05}, override=True)[0]) == {"rate": 0.05}


def test_a_value_of_another_step_stays_even_so() -> None:
    other = Step(name="other", action=Script(image="python", source="print(1)"))
    workflow = flow(other, fit(given("rate", StepRef(step="other"), "float")))
    made, context = tuned(workflow, {"rate": 0.05}, override=True)
    assert made is workflow
    assert context.step_reasons["fit"] == "rate stays: a value of the run sets it."


def test_a_mixture_with_the_program_is_told_to_be_unpredicted() -> None:
    workflow = flow(fit(given("solver", "adam", "str")))
    _, context = tuned(workflow, {"rate": 0.05, "solver": "sgd"})
    assert (
        "This mixture was never predicted nor trained: solver of the program with the others of "
        "the outcome." in context.reason
    )
    for options in ({"override": True}, {}):
        chosen = {"rate": 0.05, "solver": "sgd" if options else "adam"}
        _, context = tuned(workflow, chosen, **options)
        assert "mixture" not in context.reason


def test_a_parameter_whose_condition_does_not_hold_is_not_filled() -> None:
    conditions = {"rate": {"solver": ["sgd"]}, "depth": {"rate": [0.05]}}
    chosen = {"solver": "sgd", "rate": 0.05, "depth": 4}

    def made(*inputs: Input, **options: t.Any) -> tuple[dict[str, t.Any], str]:
        context = PassContext(tuned=lambda _: TunedParameters(chosen, "best of 12", conditions))
        found = Tune(outcome="o", **options).run(
            flow(fit(*inputs), parameters=(Parameter(name="which", default="sgd"),)), context
        )
        return values(found), context.step_reasons["fit"]

    adam = given("solver", "adam", "str")
    assert made()[0] == chosen
    assert made(adam, override=True)[0] == chosen
    found, told = made(adam)
    assert found == {"solver": "adam"}  # neither rate nor what is only there with it
    assert "rate is not filled: it is only there when solver is one of sgd, and solver is adam" in (
        told
    )
    assert "depth is not filled: it is only there when rate is one of 0.05" in told
    found, told = made(given("solver", ParamRef(name="which"), "str"))
    assert [*found] == ["solver"]
    assert "solver is not known before the run" in told


def test_operations_of_other_hyperparameters_are_dropped() -> None:
    with couler.Workflow("w") as workflow:
        data = couler.Dataset(name="digits")
        sklearn.train("RandomForestClassifier", data, {"n_estimators": 10}, step_name="fit")
    ir = workflow.to_ir()
    before = ir.steps[0].profile
    assert before is not None
    assert before.operations
    made, context = tuned(ir, {"n_estimators": 500}, override=True)
    assert made.steps[0].profile == before.model_copy(update={"operations": None})
    assert "operations" in context.step_reasons["fit"]
    unchanged, _ = tuned(ir, {"n_estimators": 10})
    assert unchanged.steps[0].profile == before


def test_what_the_step_does_not_have_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(EngineOptionError) as caught:
        tuned(flow(fit()), {"rat": 0.05})
    assert str(caught.value) == (
        'tune: the step "fit" has no parameter "rat"; it has: rate, depth, solver. '
        'Did you mean "rate"?'
    )


def test_a_value_of_another_type_is_refused() -> None:
    told = re.escape('"depth" of the step "fit" is int, and 0.5 was')
    with pytest.raises(EngineOptionError, match=told):
        tuned(flow(fit(given("depth", 3, "int"))), {"depth": 0.5}, override=True)


def test_the_step_is_named_or_the_only_one_that_trains() -> None:
    two = flow(fit(), fit(name="other"))
    with pytest.raises(EngineOptionError, match=re.escape("2 do: fit, other. Give step=PATH")):
        tuned(two, {"rate": 0.05})
    assert values(tuned(two, {"rate": 0.05}, step="other")[0], "other") == {"rate": 0.05}
    with pytest.raises(EngineOptionError, match=re.escape("none does. Give step=PATH")):
        tuned(flow(fit(profile=None)), {"rate": 0.05})
    with pytest.raises(EngineOptionError, match=re.escape('no step "othr". Did you mean "other"')):
        tuned(two, {"rate": 0.05}, step="othr")


def test_a_step_in_a_group_is_found_by_its_path() -> None:
    workflow = flow(Step(name="g", action=Group(steps=(fit(),))))
    made, _ = tuned(workflow, {"rate": 0.05}, step="g/fit")
    action = made.steps[0].action
    assert isinstance(action, Group)
    assert [one.name for one in action.steps[0].inputs] == ["rate"]


@pytest.mark.parametrize("library", ["sklearn", "xgboost"])
def test_a_training_step_of_the_zoo_takes_any_parameter(library: str) -> None:
    data = couler.Dataset(name="digits")
    with couler.Workflow("w") as workflow:
        if library == "sklearn":
            sklearn.train("MLPClassifier", data, {"max_iter": 50}, step_name="fit")
        else:
            xgboost.train(data, {"max_depth": 2}, {"num_boost_round": 3}, step_name="fit")
    ir = workflow.to_ir()
    name = "model_max_iter" if library == "sklearn" else "train_num_boost_round"
    parameter = name.partition("_")[2]
    made, _ = tuned(ir, {parameter: 9, "alpha": 0.1, "sizes": (5, 5)}, override=True)
    assert values(made)[name] == 9
    assert values(made)["model_alpha"] == 0.1
    assert values(made)["model_sizes"] == (5, 5)
    assert values(made)["save_as"] == values(ir)["save_as"]


def test_stages_read_the_outcome_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "tuned.yaml"
    file.write_text(
        "{kind: tuning, schema_version: 1, data: d, model: m, metric: {name: accuracy, "
        "direction: maximize}, parameters: {rate: 0.05}, chosen: c01, why: best of 1, candidates: "
        "[{name: c01, round: 1, origin: proposed, parameters: {rate: 0.05}, predicted: 0.9}]}"
    )
    plan = stages.plan(flow(fit()), passes=[f"tune{{outcome={file}}}"])
    assert values(plan.workflow) == {"rate": 0.05}
    assert "rate is 0.05: best of 1." in plan.log.records[0].step_reasons["fit"]
    with pytest.raises(TuningError, match="cannot be read: No such file"):
        stages.plan(flow(fit()), passes=["tune{outcome=missing.yaml}"])
