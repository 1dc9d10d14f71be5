"""What taking up a run elsewhere would do, worked out by hand for each rule."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from couler.control.restarting import Past, RestartPlan, plan_restart
from couler.errors import StateError
from couler.ir.storage import ConfigKey
from couler.ir.values import ManifestValue
from couler.ir.walk import StepPath
from couler.ir.workflow import ExitHandler, Job, Parameter, Step, Workflow
from couler.state.records import StepRecord, StepStatus
from tests.corpus.build import (
    compare,
    flow,
    given,
    group,
    item,
    last,
    on_failure,
    or_else,
    out,
    param,
    parameter,
    part,
    ref,
    run,
    sh,
    while_,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
STATES: t.Final = t.get_args(StepStatus)


def past(
    workflow: Workflow,
    ended: Mapping[str, object],
    parameters: Mapping[str, str] | None = None,
    later: Mapping[str, object] | None = None,
) -> Past:
    """Return a run that ended.

    Parameters
    ----------
    workflow
        What ran.
    ended
        How instances ended: a state, or what one that succeeded gave as its result. Groups and
        wholes that are not named are well.
    parameters
        As of a `Past`.
    later
        What ended in a second session.
    """
    sessions = ended, later or {}
    steps = [
        _record(path, end, number, ordinal)
        for number, session in enumerate(sessions, 1)
        for ordinal, (path, end) in enumerate(_with_wholes(session).items(), 1)
    ]
    return Past("r1", workflow, parameters or {}, tuple({it.path: it for it in steps}.values()))


def _with_wholes(ended: Mapping[str, object]) -> dict[str, object]:
    from couler.ir.semantics.places import around

    wholes: dict[str, object] = {}
    for text in ended:
        for outer in around(StepPath.parse(text)):
            wholes[str(outer)] = "succeeded"
    return {**wholes, **ended}


def _record(path: str, end: object, session: int, ordinal: int) -> StepRecord:
    outputs: dict[str, object] = {}
    status: StepStatus = "succeeded"
    if end in STATES:
        status = t.cast("StepStatus", end)
        if status in ("succeeded", "cached"):
            outputs = {"result": {"text": "x", "type": "str"}}
    elif isinstance(end, tuple):
        outputs = {"result": {"text": end[0], "type": end[1]}}
    name = StepPath.parse(path)[-1].name
    return StepRecord(path, name, status, NOON, session, ordinal, outputs=outputs)


def verdicts(plan: RestartPlan) -> dict[str, str]:
    return {step.path: step.verdict for step in plan.steps}


def reasons(plan: RestartPlan) -> dict[str, str | None]:
    return {step.path: step.reason for step in plan.steps}


def again(plan: RestartPlan) -> set[str]:
    return set(plan.again)


LINE = flow(
    "w",
    sh("a", "echo 1"),
    sh("b", "echo $1", ref("a")),
    sh("c", "echo $1", ref("b")),
    sh("other", "echo 2"),
)


def test_what_failed_runs_again_and_what_follows() -> None:
    plan = plan_restart(
        past(LINE, {"a": "succeeded", "b": "failed", "c": "omitted", "other": "cached"})
    )
    assert reasons(plan) == {
        "a": None,
        "b": "it failed",
        "c": "it depends on b, which runs",
        "other": None,
    }
    assert verdicts(plan) == {"a": "reused", "b": "runs", "c": "runs", "other": "reused"}
    assert again(plan) == {"b", "c"}


def test_nothing_runs_where_all_went_well() -> None:
    went_well = past(LINE, dict.fromkeys(["a", "b", "c", "other"], "succeeded"))
    assert again(plan_restart(went_well)) == set()
    assert set(verdicts(plan_restart(went_well)).values()) == {"reused"}


def test_a_changed_step_runs_again_and_what_follows() -> None:
    went_well = past(LINE, dict.fromkeys(["a", "b", "c", "other"], "succeeded"))
    steps = (LINE.steps[0], sh("b", "echo $1 more", ref("a")), *LINE.steps[2:])
    plan = plan_restart(went_well, LINE.model_copy(update={"steps": steps}))
    assert reasons(plan)["b"] == "its code, definition or inputs have changed"
    assert again(plan) == {"b", "c"}


def test_a_policy_is_no_part_of_what_a_step_does() -> None:
    went_well = past(LINE, dict.fromkeys(["a", "b", "c", "other"], "succeeded"))
    steps = (LINE.steps[0].model_copy(update={"timeout_s": 60}), *LINE.steps[1:])
    assert again(plan_restart(went_well, LINE.model_copy(update={"steps": steps}))) == set()


def test_steps_that_are_added_and_removed() -> None:
    went_well = past(LINE, dict.fromkeys(["a", "b", "c", "other"], "succeeded"))
    now = flow("w", *LINE.steps[:2], sh("d", "echo $1", ref("b")), LINE.steps[3])
    plan = plan_restart(went_well, now)
    assert verdicts(plan) == {"a": "reused", "b": "reused", "d": "runs", "other": "reused"}
    assert again(plan) == {"c", "d"}  # c is nowhere any more, and keeps nothing


def test_changed_parameters_run_those_that_read_them() -> None:
    workflow = flow(
        "w",
        sh("a", "echo $1", param("p")),
        sh("b", "echo $1", param("q")),
        sh("after", "true", depends_on=["a"]),
        parameters=[parameter("p", "1"), parameter("q", "1")],
    )
    ended = dict.fromkeys(["a", "b", "after"], "succeeded")
    went_well = past(workflow, ended, {"p": "2"})
    assert again(plan_restart(went_well, parameters={"p": "2"})) == set()
    assert again(plan_restart(went_well, parameters={"p": "2", "q": "1"})) == set()
    assert again(plan_restart(went_well, parameters={})) == {"a", "after"}
    assert again(plan_restart(went_well, parameters={"p": "2", "q": "3"})) == {"b"}


def test_a_parameter_of_a_config_map_is_taken_to_be_the_same() -> None:
    entry = Parameter(name="p", config=ConfigKey(config_map="settings", key="p"))
    workflow = flow(
        "w",
        sh("a", "echo $1", param("p")),
        sh("b", "echo $1", param("p"), when=compare(param("p"), "==", "x")),
        group("g", sh("x", "echo $1", param("q")), inputs=[given("q", param("p"))]),
        parameters=[entry],
    )
    ended = {"a": "succeeded", "b": "succeeded", "g/x": "succeeded"}
    assert again(plan_restart(past(workflow, ended))) == set()
    assert again(plan_restart(past(workflow, ended), parameters={"p": "1"})) >= {"a", "g/x"}


def test_an_output_that_is_read_now_and_was_not_kept() -> None:
    before = flow("w", sh("a", "echo 1", result=None), sh("b", "true"))
    now = flow("w", sh("a", "echo 1", result=None), sh("b", "true"), sh("c", "echo $1", ref("a")))
    ended = past(before, {"a": "succeeded", "b": "succeeded"})
    silent = tuple(replace(step, outputs={}) for step in ended.steps)
    plan = plan_restart(replace(ended, steps=silent), now)
    assert reasons(plan)["a"] == 'its output "result" is read now, and was not kept'
    assert again(plan) == {"a", "c"}


def test_what_ran_again_after_what_waits_for_it() -> None:
    ended = {"a": "succeeded", "b": "succeeded", "c": "succeeded", "other": "succeeded"}
    plan = plan_restart(past(LINE, ended, later={"a": "succeeded"}))
    assert reasons(plan)["b"] == "something that it depends on has run after it"
    assert again(plan) == {"b", "c"}


def test_a_failure_that_was_not_met_may_be_met_now() -> None:
    workflow = flow("w", sh("fit", "true"), sh("repair", "true", depends_on=[on_failure("fit")]))
    plan = plan_restart(past(workflow, {"fit": "succeeded", "repair": "skipped"}), from_step="fit")
    assert verdicts(plan) == {"fit": "runs", "repair": "skipped"}
    assert again(plan) == {"fit", "repair"}


def test_conditions() -> None:
    when = compare(ref("a"), "==", "yes")
    workflow = flow("w", sh("a", "echo no"), sh("b", "true", when=when), sh("c", "true"))
    skipped = past(workflow, {"a": ("no", "str"), "b": "skipped", "c": "failed"})
    plan = plan_restart(skipped)
    assert verdicts(plan) == {"a": "reused", "b": "skipped", "c": "runs"}
    assert again(plan) == {"c"}
    failed = past(workflow, {"a": "failed", "b": "omitted", "c": "succeeded"})
    assert reasons(plan_restart(failed))["b"] == (
        "it depends on a, which runs, if its condition holds"
    )
    assert again(plan_restart(failed)) == {"a", "b"}


def fan(items: object, **fields: object) -> Workflow:
    return flow(
        "w",
        sh("m", "echo $1", item(), foreach=items),
        sh("sum", "echo $1", ref("m")),
        **fields,
    )


def test_items_one_by_one() -> None:
    plan = plan_restart(
        past(
            fan(["a", "b", "c"]),
            {"m[0]": "succeeded", "m[1]": "failed", "m[2]": "succeeded"}
            | {"m": "failed", "sum": "omitted"},
        )
    )
    assert verdicts(plan) == {"m[0]": "reused", "m[1]": "runs", "m[2]": "reused", "sum": "runs"}
    assert again(plan) == {"m[1]", "sum"}


def test_a_foreach_that_was_skipped_has_its_default() -> None:
    skipped = sh("m", "echo $1", item(), foreach=["a"], when=compare("a", "==", "b"))
    workflow = flow("w", skipped, sh("sum", "echo $1", or_else(ref("m"), [])))
    assert again(plan_restart(past(workflow, {"m": "skipped", "sum": "succeeded"}))) == set()


def test_a_foreach_over_nothing() -> None:
    ended = {"m": "succeeded", "sum": "succeeded"}
    assert again(plan_restart(past(fan([]), ended))) == set()
    assert again(plan_restart(past(fan([]), ended), fan(["a"]))) == {"m[0]", "sum"}
    failed = {"m": "failed", "sum": "omitted"}
    assert again(plan_restart(past(fan("no list"), failed), fan([]))) == {"m", "sum"}


COUNT = sh(
    "count",
    "echo $(($1 + 1))",
    last(initial=0),
    result="int",
    loop=while_(compare(last(), "<", 3), 5),
)


def test_rounds() -> None:
    workflow = flow("w", COUNT, sh("after", "echo $1", ref("count")))
    rounds = {f"count@{index}": (str(index + 1), "int") for index in range(3)}
    assert again(plan_restart(past(workflow, {**rounds, "after": "succeeded"}))) == set()
    failed = {**rounds, "count@1": "failed", "count": "failed", "after": "omitted"}
    del failed["count@2"]
    plan = plan_restart(past(workflow, failed))
    assert verdicts(plan) == {"count@0": "reused", "count@1": "runs", "after": "runs"}
    assert again(plan) == {"count@1", "after"}


def test_a_loop_at_its_bound_fails_as_it_did() -> None:
    loop = while_(compare(last(), "<", 9), 2)
    workflow = flow("w", COUNT.model_copy(update={"loop": loop}))
    ended = past(workflow, {"count@0": ("1", "int"), "count@1": ("2", "int"), "count": "failed"})
    plan = plan_restart(ended)
    assert reasons(plan)["count"] == "it needs more than 2 rounds"
    assert again(plan) == set()
    more = flow("w", COUNT.model_copy(update={"loop": while_(compare(last(), "<", 9), 3)}))
    assert again(plan_restart(ended, more)) == {"count@2"}


def test_a_group_whose_outputs_could_not_be_evaluated() -> None:
    def of(key: str) -> Workflow:
        parts = [out("o", "json", source=part(ref("x"), key))]
        inner = group("g", sh("x", "echo", result="json"), sh("y", "echo y"), outputs=parts)
        return flow("w", inner, sh("after", "echo $1", ref("g", "o")))

    found = {"g/x": ('{"k":1}', "json"), "g/y": "succeeded", "g": "failed", "after": "omitted"}
    ended = past(of("q"), found)
    assert again(plan_restart(ended)) == {"after"}  # it fails as it did
    plan = plan_restart(ended, of("k"))
    assert verdicts(plan) == {"g/x": "runs", "g/y": "runs", "after": "runs"}
    assert reasons(plan)["g/y"] == "g failed, and nothing in it did"
    assert again(plan) == {"g/x", "g/y", "after"}


def test_a_group_of_which_a_failed_step_is_taken() -> None:
    inner = group("g", sh("x", "true"), sh("bad", "false"))
    ended = past(flow("w", inner), {"g/x": "succeeded", "g/bad": "failed", "g": "failed"})
    plan = plan_restart(ended, flow("w", group("g", sh("x", "true"))))
    assert verdicts(plan) == {"g/x": "reused"}
    assert again(plan) == {"g/bad"}  # g opens again, and has no such step


def test_a_group_that_a_pass_made_has_no_path() -> None:
    made = group(
        "made",
        sh("x", "echo 1"),
        sh("y", "echo $1", ref("x")),
        outputs=[out("o", source=ref("y"))],
    )
    hidden = made.action.model_copy(update={"transparent": True})
    made = made.model_copy(update={"action": hidden})
    workflow = flow("w", made, sh("after", "echo $1", ref("made", "o")))
    well = past(workflow, dict.fromkeys(["x", "y", "after"], "succeeded"))
    assert again(plan_restart(well)) == set()
    assert again(plan_restart(well, from_step="y")) == {"y", "after"}
    failed = past(workflow, {"x": "succeeded", "y": "failed", "after": "omitted"})
    plan = plan_restart(failed)
    assert verdicts(plan) == {"x": "reused", "y": "runs", "after": "runs"}
    assert again(plan) == {"y", "after"}


def test_values_in_the_manifest_of_a_job() -> None:
    manifest = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"parallelism": 1}}
    filling = ManifestValue(path=("spec", "parallelism"), value=param("size"), type="int")
    job = Job(manifest=manifest, values=(filling,))
    workflow = flow(
        "w", Step(name="train", action=job), parameters=[parameter("size", 1, type="int")]
    )
    ended = past(workflow, {"train": "succeeded"}, {"size": "2"})
    assert again(plan_restart(ended)) == set()
    assert again(plan_restart(ended, parameters={"size": "3"})) == {"train"}


def handled(*steps: Step) -> Workflow:
    def handler(name: str, on: t.Literal["success", "failure", "any"]) -> ExitHandler:
        return ExitHandler(name=name, on=on, steps=(sh("t", "echo $1", run("status")),))

    handlers = [handler("ok", "success"), handler("alarm", "failure"), handler("end", "any")]
    return flow("w", *steps, exit_handlers=handlers)


def test_exit_handlers_run_again_if_anything_does() -> None:
    workflow = handled(sh("a", "true"), sh("b", "true"))
    failed = {"a": "succeeded", "b": "failed", "exit:ok": "skipped"} | dict.fromkeys(
        ["exit:alarm/t", "exit:end/t"], "succeeded"
    )
    plan = plan_restart(past(workflow, failed))
    assert verdicts(plan) == {
        "a": "reused",
        "b": "runs",
        "exit:ok/t": "runs",
        "exit:end/t": "runs",
    }
    assert {"exit:ok/t", "exit:end/t", "exit:alarm/t"} <= again(plan)
    well = {"a": "succeeded", "b": "succeeded", "exit:alarm": "skipped"} | dict.fromkeys(
        ["exit:ok/t", "exit:end/t"], "succeeded"
    )
    assert again(plan_restart(past(workflow, well))) == set()


def test_an_exit_handler_that_failed_runs_again_with_the_others() -> None:
    workflow = handled(sh("a", "true"))
    ended = {"a": "succeeded", "exit:ok/t": "failed", "exit:ok": "failed"} | {
        "exit:end/t": "succeeded",
        "exit:alarm": "skipped",
    }
    plan = plan_restart(past(workflow, ended))
    assert verdicts(plan) == {"a": "reused", "exit:ok/t": "runs", "exit:end/t": "runs"}
    assert "a" not in again(plan)
    assert {"exit:ok/t", "exit:end/t"} <= again(plan)


def test_from_a_step_on() -> None:
    went_well = past(LINE, dict.fromkeys(["a", "b", "c", "other"], "succeeded"))
    plan = plan_restart(went_well, from_step="b")
    assert reasons(plan)["b"] == "it is to run again"
    assert again(plan) == {"b", "c"}
    for step in LINE.steps:
        later = {"a": {"b", "c"}, "b": {"c"}}.get(step.name, set())
        assert again(plan_restart(went_well, from_step=step.name)) == {step.name, *later}


def test_from_a_step_in_a_group_an_item_or_by_its_name() -> None:
    workflow = flow(
        "w",
        group("g", sh("x", "true"), sh("y", "true"), foreach=["a", "b"]),
        sh("z", "true", depends_on=["g"]),
    )
    went_well = past(
        workflow, dict.fromkeys(["g[0]/x", "g[0]/y", "g[1]/x", "g[1]/y", "z"], "succeeded")
    )
    assert again(plan_restart(went_well, from_step="g[1]/x")) == {"g[1]/x", "z"}
    assert again(plan_restart(went_well, from_step="g[1]")) == {"g[1]/x", "g[1]/y", "z"}
    both = {"g[0]/x", "g[1]/x", "z"}
    assert again(plan_restart(went_well, from_step="g/x")) == both
    assert again(plan_restart(went_well, from_step="x")) == both


def test_from_a_step_that_is_not_there() -> None:
    went_well = past(LINE, dict.fromkeys(["a", "b", "c", "other"], "succeeded"))
    with pytest.raises(StateError, match=r'has no step "othr"\. Did you mean "other"\?'):
        plan_restart(went_well, from_step="othr")
    with pytest.raises(StateError, match="has no step"):
        plan_restart(went_well, from_step="a/b//")
