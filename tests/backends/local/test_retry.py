"""Runs that are taken up again: what is taken over, what runs, and what is said of it before."""

from __future__ import annotations

import os
import shutil
import typing as t
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.errors import ParameterError, RunBusyError, RunNotFoundError
from couler.ir.policies import Cache, Retry
from couler.ir.storage import ConfigKey
from couler.ir.values import RunRef
from couler.ir.wire import ValueType
from couler.ir.workflow import ExitHandler, Parameter, Step, Workflow
from couler.state.ownership import own_run
from couler.state.results import Event, RunResult
from tests.corpus.build import (
    compare,
    flow,
    given,
    group,
    item,
    last,
    on_completion,
    out,
    param,
    parameter,
    ref,
    sh,
    while_,
)

LOCAL = LocalBackend()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A file to which steps write that they ran."""
    path = tmp_path / "ledger"
    path.touch()
    return path


def run(workflow: Workflow, home: Path, **options: object) -> RunResult:
    return LOCAL.run(workflow, options=RunOptions(home=home, jobs=2), **options)  # type: ignore[arg-type]  # a shorthand


def retry(
    result: RunResult, home: Path, workflow: Workflow | None = None, **options: object
) -> RunResult:
    return LOCAL.retry(
        result.run_id,
        workflow=workflow,
        options=RunOptions(home=home, jobs=2),
        **options,  # type: ignore[arg-type]  # a shorthand
    )


def plan(
    result: RunResult, home: Path, workflow: Workflow | None = None, **options: object
) -> dict[str, str]:
    planned = LOCAL.plan_retry(
        result.run_id,
        workflow=workflow,
        options=RunOptions(home=home),
        **options,  # type: ignore[arg-type]  # a shorthand
    )
    return {step.path: step.verdict for step in planned}


def ran(ledger: Path) -> list[str]:
    """Return what ran since the last call, sorted."""
    lines = sorted(ledger.read_text(encoding="utf-8").split())
    ledger.write_text("", encoding="utf-8")
    return lines


def note(ledger: Path, name: str, then: str = "echo done", **fields: object) -> Step:
    """Return a step that notes that it ran."""
    return sh(name, f"echo {name} >> {ledger}; {then}", **fields)  # type: ignore[arg-type]  # a shorthand


def test_only_what_failed_and_what_depends_on_it_runs_again(home: Path, ledger: Path) -> None:
    gate = ledger.with_name("gate")
    workflow = flow(
        "w",
        note(ledger, "a", "echo 1"),
        note(ledger, "b", f"test -e {gate}", depends_on=["a"]),
        sh("c", f"echo c$1 >> {ledger}; echo 3", ref("b"), depends_on=["b"]),
        note(ledger, "other"),
    )
    first = run(workflow, home)
    assert first.status == "failed"
    assert ran(ledger) == ["a", "b", "other"]
    assert plan(first, home) == {"a": "reused", "other": "reused", "b": "runs", "c": "runs"}
    gate.touch()
    events: list[Event] = []
    second = retry(first, home, on_event=events.append)
    assert (second.status, second.run_id) == ("succeeded", first.run_id)
    assert ran(ledger) == ["b", "c"]
    assert {str(event.path) for event in events if event.kind == "reused"} == {"a", "other"}
    assert second.steps["a"].reused
    assert second.steps["a"].outputs == {"result": "1"}
    assert second.steps["b"].attempts == 2
    assert second.steps["b"].log is not None
    assert "--- attempt 2 ---" in second.steps["b"].log.read_text(encoding="utf-8")


def test_a_run_that_succeeded_has_nothing_left_to_do(home: Path, ledger: Path) -> None:
    workflow = flow("w", note(ledger, "a"), outputs=[out("a", source=ref("a"))])
    first = run(workflow, home)
    ran(ledger)
    second = retry(first, home)
    assert ran(ledger) == []
    assert second.outputs == first.outputs == {"a": "done"}


def test_items_of_a_foreach_are_told_apart(home: Path, ledger: Path) -> None:
    gate = ledger.with_name("gate")
    step = sh(
        "each",
        f"echo $1 >> {ledger}; test $1 != two || test -e {gate}; echo $1",
        item(),
        foreach=["one", "two", "three"],
    )
    script = step.action.args[0]  # type: ignore[union-attr]  # a container
    assert isinstance(script, str)
    strict = step.action.model_copy(update={"args": (f"set -e; {script}", *step.action.args[1:])})  # type: ignore[union-attr]  # a container
    workflow = flow("w", step.model_copy(update={"action": strict}))
    first = run(workflow, home)
    assert first.status == "failed"
    assert ran(ledger) == ["one", "three", "two"]
    gate.touch()
    second = retry(first, home)
    assert second.steps["each"].outputs == {"result": ["one", "two", "three"]}
    assert ran(ledger) == ["two"]


def test_a_changed_step_and_what_depends_on_it_run_again(home: Path, ledger: Path) -> None:
    def workflow(said: str) -> Workflow:
        return flow(
            "w",
            note(ledger, "a", f"echo {said}"),
            note(ledger, "by-order", depends_on=["a"]),
            sh("by-data", f"echo by-data >> {ledger}; echo $1", ref("a")),
            note(ledger, "apart"),
        )

    first = run(workflow("old"), home)
    ran(ledger)
    changed = workflow("new")
    assert plan(first, home, changed) == {
        "a": "runs",
        "apart": "reused",
        "by-order": "runs",
        "by-data": "runs",
    }
    second = retry(first, home, changed)
    assert ran(ledger) == ["a", "by-data", "by-order"]
    assert second.steps["by-data"].outputs == {"result": "new"}


def test_a_changed_parameter_runs_what_reads_it(home: Path, ledger: Path) -> None:
    workflow = flow(
        "w",
        sh("reads", f"echo reads >> {ledger}; echo $1", param("n")),
        note(ledger, "apart"),
        parameters=[parameter("n", "1"), parameter("m", "1")],
        outputs=[out("n", source=ref("reads"))],
    )
    first = run(workflow, home, parameters={"m": "5"})
    ran(ledger)
    second = retry(first, home, parameters={"n": "2"})
    assert ran(ledger) == ["reads"]
    assert second.outputs == {"n": "2"}
    with pytest.raises(ParameterError, match='no parameter "k"'):
        retry(first, home, parameters={"k": "2"})


def test_a_default_counts_as_it_is_now_where_no_value_was_given(home: Path, ledger: Path) -> None:
    def workflow(n: int, m: int) -> Workflow:
        step = sh("a", f"echo $1 $2 >> {ledger}; false", param("n"), param("m"))
        return flow("w", step, parameters=[parameter("n", n, "int"), parameter("m", m, "int")])

    first = run(workflow(1, 1), home, parameters={"m": 5})
    retry(first, home, workflow(2, 2))
    retry(first, home, workflow(2, 2), parameters={"n": "1"})
    retry(first, home, workflow(3, 3))
    assert ledger.read_text(encoding="utf-8").splitlines() == ["1 5", "2 5", "1 5", "1 5"]


def test_an_entry_of_a_config_map_counts_as_it_is_now(home: Path, ledger: Path) -> None:
    entry = ConfigKey(config_map="site", key="n")
    step = sh("a", f"echo $1 >> {ledger}; false", param("n"))
    workflow = flow("w", step, parameters=[Parameter(name="n", type="int", config=entry)])

    def now(value: str) -> dict[str, str]:
        return {**os.environ, "COULER_CONFIG_site_n": value}

    first = run(workflow, home, environ=now("1"))
    retry(first, home, environ=now("2"))
    retry(first, home, parameters={"n": 3}, environ=now("4"))
    retry(first, home, environ=now("5"))
    assert ledger.read_text(encoding="utf-8").split() == ["1", "2", "3", "3"]


def test_a_parameter_that_is_new_may_be_a_file(home: Path, ledger: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_text("one", encoding="utf-8")
    first = run(flow("w", sh("a", "false")), home)
    step = sh(
        "a", 'cat "$COULER_INPUT_d"; false', inputs=[given("d", param("data"), "file")], result=None
    )
    changed = flow("w", step, parameters=[parameter("data", str(data), "file")])
    second = retry(first, home, changed)
    # It stays as it was while nobody gives another.
    data.unlink()
    last_of = retry(second, home)
    assert last_of.steps["a"].log is not None
    assert last_of.steps["a"].log.read_text(encoding="utf-8").count("one") == 2


def test_a_value_that_is_no_choice_any_more_is_refused(home: Path) -> None:
    def workflow(*choices: str) -> Workflow:
        declared = Parameter(name="p", default=choices[0], choices=choices)
        return flow("w", sh("a", "false", param("p")), parameters=[declared])

    first = run(workflow("x", "y"), home, parameters={"p": "y"})
    with pytest.raises(ParameterError, match="'y' is none of its choices: 'q'"):
        retry(first, home, workflow("q"))
    assert retry(first, home, workflow("q"), parameters={"p": "q"}).status == "failed"


def test_a_value_of_another_type_than_the_parameter_is_required_again(home: Path) -> None:
    def workflow(type_: ValueType) -> Workflow:
        declared = Parameter(name="p", type=type_, required=True)
        return flow("w", sh("a", "false", param("p")), parameters=[declared])

    first = run(workflow("str"), home, parameters={"p": "y"})
    with pytest.raises(ParameterError, match="a value is required"):
        retry(first, home, workflow("int"))


@pytest.mark.parametrize(
    ("max_age_s", "told"), [(None, ("cached", ["a"])), (1e-6, ("succeeded", ["a", "b"]))]
)
def test_a_cached_step_after_one_that_runs_is_looked_for_in_the_cache_alone(
    home: Path, ledger: Path, max_age_s: float | None, told: tuple[str, list[str]]
) -> None:
    workflow = flow(
        "w",
        sh("a", f"echo a >> {ledger}; echo $1", param("p")),
        note(ledger, "b", depends_on=["a"], cache=Cache(max_age_s=max_age_s)),
        parameters=[parameter("p", "1")],
    )
    first = run(workflow, home)
    assert ran(ledger) == ["a", "b"]
    b = retry(first, home, parameters={"p": "2"}).steps["b"]
    assert not b.reused
    assert (b.status, ran(ledger)) == told


def test_files_travel_between_sessions(home: Path, ledger: Path) -> None:
    gate = ledger.with_name("gate")
    workflow = flow(
        "w",
        note(ledger, "make", "mkdir d; echo x > d/f", outputs=[out("d", "directory", "d")]),
        sh(
            "read",
            f"echo read >> {ledger}; test -e {gate} && cat $COULER_INPUT_d/f",
            inputs=[given("d", ref("make", "d"), "directory")],
        ),
    )
    first = run(workflow, home)
    assert ran(ledger) == ["make", "read"]
    gate.touch()
    second = retry(first, home)
    assert ran(ledger) == ["read"]
    assert second.steps["read"].outputs == {"result": "x"}


def test_a_step_whose_file_is_gone_runs_again(home: Path, ledger: Path) -> None:
    workflow = flow(
        "w", note(ledger, "make", "echo x > f", outputs=[out("f", "file", "f")], result=None)
    )
    first = run(workflow, home)
    ran(ledger)
    shutil.rmtree(home / "store")
    assert plan(first, home) == {"make": "runs"}
    assert retry(first, home).status == "succeeded"
    assert ran(ledger) == ["make"]


@pytest.mark.parametrize("items", [None, [1, 2]])
def test_a_step_whose_output_is_read_only_now_runs_again(
    home: Path, ledger: Path, items: list[int] | None
) -> None:
    """Standard output that nobody read was not kept; it is no part of what the step is."""
    a = note(ledger, "a", "echo hi", result=None, foreach=items)
    first = run(flow("w", a, sh("z", "false", depends_on=["a"])), home)
    assert len(ran(ledger)) == len(items or [1])
    changed = flow("w", a, sh("z", 'echo "$1"', ref("a"), depends_on=["a"]))
    assert set(plan(first, home, changed).values()) == {"runs"}
    assert retry(first, home, changed).steps["z"].outputs == {
        "result": "hi" if items is None else '["hi","hi"]'
    }
    assert set(plan(first, home).values()) == {"reused"}


def test_rounds_of_a_loop_go_on_where_they_ended(home: Path, ledger: Path) -> None:
    gate = ledger.with_name("gate")
    count = ledger.with_name("count")
    script = (
        f"set -e; n=$(cat {count} 2>/dev/null || echo 0); n=$((n + 1)); "
        f"test $n -lt 3 || test -e {gate}; echo $n > {count}; echo round >> {ledger}; echo $n"
    )
    step = sh("grow", script, result="int", loop=while_(compare(last(), "<", 4), 10))
    first = run(flow("w", step), home)
    assert first.status == "failed"
    assert ran(ledger) == ["round", "round"]
    gate.touch()
    second = retry(first, home)
    assert second.steps["grow"].outputs == {"result": 4}
    assert ran(ledger) == ["round", "round"]


def test_inside_a_group_each_step_is_told_apart(home: Path, ledger: Path) -> None:
    gate = ledger.with_name("gate")
    inner = (
        note(ledger, "good"),
        note(ledger, "bad", f"test -e {gate}", depends_on=["good"]),
    )
    first = run(flow("w", group("g", *inner)), home)
    assert ran(ledger) == ["bad", "good"]
    gate.touch()
    assert plan(first, home) == {"g/good": "reused", "g/bad": "runs"}
    assert retry(first, home).status == "succeeded"
    assert ran(ledger) == ["bad"]


def test_a_group_that_is_tried_again_runs_as_a_whole(home: Path, ledger: Path) -> None:
    gate = ledger.with_name("gate")
    inner = (
        note(ledger, "good"),
        note(ledger, "bad", f"test -e {gate} || {{ touch {gate}; exit 1; }}", depends_on=["good"]),
    )
    result = run(flow("w", group("g", *inner, retry=Retry(limit=1))), home)
    assert result.status == "succeeded"
    assert ran(ledger) == ["bad", "bad", "good", "good"]


def test_what_ran_after_a_failure_runs_after_the_retry_of_it_too(home: Path, ledger: Path) -> None:
    gate = ledger.with_name("gate")
    workflow = flow(
        "w",
        note(ledger, "flaky", f"test -e {gate}"),
        note(ledger, "always", depends_on=[on_completion("flaky")]),
        note(ledger, "needs", depends_on=["flaky"]),
        exit_handlers=[ExitHandler(name="end", on="any", steps=(note(ledger, "tell"),))],
    )
    first = run(workflow, home)
    assert ran(ledger) == ["always", "flaky", "tell"]
    gate.touch()
    assert retry(first, home).status == "succeeded"
    assert ran(ledger) == ["always", "flaky", "needs", "tell"]


def test_plan_says_why(home: Path) -> None:
    first = run(flow("w", sh("a", "exit 1"), sh("b", "true", depends_on=["a"])), home)
    planned = LOCAL.plan_retry(first.run_id, options=RunOptions(home=home))
    assert [step.reason for step in planned] == ["it failed", "it depends on a, which runs"]
    changed = flow("w", sh("a", "exit 0"), sh("b", "true", depends_on=["a"]))
    second = retry(first, home, changed)
    assert second.status == "succeeded"
    again = LOCAL.plan_retry(first.run_id, workflow=first_of_all(), options=RunOptions(home=home))
    assert {step.path: step.reason for step in again} == {
        "a": "its code, definition or inputs have changed",
        "b": "it depends on a, which runs",
        "c": "it has not run",
    }


def test_plan_has_the_exit_handlers_of_a_run_that_succeeds(home: Path, ledger: Path) -> None:
    gate = ledger.with_name("gate")
    read = given("r", RunRef(field="status"))

    def handler(name: str, on: t.Literal["success", "failure", "any"], then: str) -> ExitHandler:
        told = sh("m", f"echo {name} >> {ledger}; {then}", ref("a"), inputs=[read])
        return ExitHandler(name=name, on=on, steps=(told, sh("n", "true", depends_on=["m"])))

    def workflow(then: str) -> Workflow:
        handlers = [
            handler("good", "success", "true"),
            handler("bad", "failure", "true"),
            handler("always", "any", f"test -e {gate}"),
        ]
        return flow("w", sh("a", then), exit_handlers=handlers)

    first = run(workflow("echo 1"), home)
    assert (first.status, ran(ledger)) == ("failed", ["always", "good"])
    assert plan(first, home) == {
        "a": "reused",
        "exit:good/m": "reused",
        "exit:good/n": "reused",
        "exit:always/m": "runs",
        "exit:always/n": "runs",
    }
    gate.touch()
    assert retry(first, home).status == "succeeded"
    assert ran(ledger) == ["always"]
    assert set(plan(first, home).values()) == {"reused"}
    planned = plan(first, home, workflow("echo 2"))
    assert len(planned) == 5
    assert set(planned.values()) == {"runs"}
    retry(first, home, workflow("echo 2"))
    assert ran(ledger) == ["always", "good"]


def first_of_all() -> Workflow:
    return flow("w", sh("a", "echo new"), sh("b", "true", depends_on=["a"]), sh("c", "true"))


def test_a_run_that_somebody_works_on_is_left_alone(home: Path) -> None:
    first = run(flow("w", sh("a", "true")), home)
    with own_run(first.folder), pytest.raises(RunBusyError):
        retry(first, home)


def test_runs_are_found_by_a_part_of_their_names(home: Path) -> None:
    first = run(flow("w", sh("a", "true")), home)
    options = RunOptions(home=home)
    assert LOCAL.retry(first.run_id[:-3], options=options).run_id == first.run_id
    assert LOCAL.retry("latest", options=options).run_id == first.run_id
    with pytest.raises(RunNotFoundError, match='no run "nope"'):
        LOCAL.retry("nope", options=options)
