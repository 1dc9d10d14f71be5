"""Runs that are taken up again: what is taken over, what runs, and what is said of it before."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.errors import ParameterError, RunBusyError
from couler.ir.workflow import ExitHandler, Parameter, Step, Workflow
from couler.state.ownership import own_run
from couler.state.results import Event, RunResult
from tests.corpus.build import (
    compare,
    flow,
    given,
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


def test_a_run_that_somebody_works_on_is_left_alone(home: Path) -> None:
    first = run(flow("w", sh("a", "true")), home)
    with own_run(first.folder), pytest.raises(RunBusyError):
        retry(first, home)
