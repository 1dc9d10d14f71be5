"""Plans of retries with the cache: a retry does what its plan says, and a plan changes nothing."""

from __future__ import annotations

import sqlite3
import typing as t
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.policies import Cache
from couler.ir.values import RunRef
from couler.ir.workflow import ExitHandler, Workflow
from tests.corpus.build import (
    compare,
    flow,
    given,
    item,
    or_else,
    out,
    param,
    parameter,
    ref,
    sh,
)
from tests.support.retry_plans import (
    UNKNOWN_INPUTS,
    agree,
    another,
    fill,
    kept,
    nothing_changes,
    retry_as_planned,
)

LOCAL = LocalBackend()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def objects(home: Path) -> list[Path]:
    return sorted(path for path in (home / "store" / "objects").rglob("*") if path.is_file())


def alter(path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])


def test_what_is_in_the_cache_is_cached_and_the_plan_tells_who_made_it(home: Path) -> None:
    workflow = flow("w", kept("a", "echo 1"), sh("b", "echo $1", ref("a")))
    maker = fill(workflow, home)
    told = retry_as_planned(another(home), workflow, home)
    assert told.verdicts == {"a": "cached", "b": "runs"}
    assert f"made by {maker} on 20" in str(told.reasons["a"])
    assert told.reasons["b"] == "it depends on a, which is cached"
    # It is now of that run: nothing is looked for any more.
    again = retry_as_planned(told.result.run_id, workflow, home)
    assert again.verdicts == {"a": "reused", "b": "reused"}
    assert again.reasons["a"] is None


def test_without_the_cache_nothing_is_cached(home: Path) -> None:
    workflow = flow("w", kept("a", "echo 1"), kept("b", "true", depends_on=["a"]))
    fill(workflow, home)
    told = retry_as_planned(another(home), workflow, home, use_cache=False)
    assert told.verdicts == {"a": "runs", "b": "runs"}
    assert told.reasons == {"a": "it has not run", "b": "it depends on a, which runs"}


def test_a_miss_has_its_reason(home: Path) -> None:
    def workflow(said: str, max_age_s: float | None = None) -> Workflow:
        a = sh("a", f"echo {said}", cache=Cache(max_age_s=max_age_s))
        return flow("w", a, kept("b", "true"))

    first = fill(workflow("old"), home)
    told = retry_as_planned(first, workflow("new"), home)
    assert told.verdicts == {"a": "runs", "b": "reused"}
    assert told.reasons["a"] == (
        "its code, definition or inputs have changed; cache: there is no entry"
    )
    told = retry_as_planned(another(home), workflow("new", 1e-6), home)
    assert told.verdicts == {"a": "runs", "b": "cached"}
    assert str(told.reasons["a"]).startswith("it has not run; cache: the entry is too old, made by")
    # The run has had another in between: the cache still has the old.
    told = retry_as_planned(first, workflow("old"), home)
    assert told.verdicts == {"a": "cached", "b": "reused"}


@pytest.mark.parametrize("what", ["missing", "altered"])
@pytest.mark.parametrize("made", ["file", "directory"])
def test_a_lost_file_is_a_miss_and_stays_where_it_is(
    home: Path, what: str, made: t.Literal["file", "directory"]
) -> None:
    script = "echo data > f" if made == "file" else "mkdir f; echo data > f/g"
    workflow = flow(
        "w",
        kept("a", script, outputs=[out("f", made, "f")], result=None),
        kept("b", "echo $COULER_INPUT_f", inputs=[given("f", ref("a", "f"), made)], result=None),
    )
    fill(workflow, home)
    for path in objects(home):
        run = another(home)
        if what == "missing":
            path.unlink()
        else:
            alter(path)
        told = retry_as_planned(run, workflow, home)
        assert told.verdicts == {"a": "runs", "b": "runs"}
        assert what in str(told.reasons["a"])
        told = retry_as_planned(another(home), workflow, home)
        assert told.verdicts == {"a": "cached", "b": "cached"}


def test_a_lost_list_of_a_directory_that_was_made_before_stays_where_it_is(home: Path) -> None:
    workflow = flow(
        "w", sh("a", "mkdir f; echo data > f/g", outputs=[out("f", "directory", "f")], result=None)
    )
    run = fill(workflow, home)
    [listing] = [path for path in objects(home) if b"entries" in path.read_bytes()]
    alter(listing)
    assert retry_as_planned(run, workflow, home).verdicts == {"a": "runs"}


def test_files_of_new_parameters_are_not_stored(home: Path, tmp_path: Path) -> None:
    one, folder = tmp_path / "one", tmp_path / "folder"
    folder.mkdir()
    one.write_text("1", encoding="utf-8")
    (folder / "in").write_text("2", encoding="utf-8")
    read = kept(
        "a",
        "cat $COULER_INPUT_f $COULER_INPUT_d/in",
        inputs=[given("f", param("f"), "file"), given("d", param("d"), "directory")],
    )
    workflow = flow(
        "w", read, parameters=[parameter("f", None, "file"), parameter("d", None, "directory")]
    )
    run = fill(workflow, home, f=str(one), d=str(folder))
    other = another(home)
    told = retry_as_planned(other, workflow, home, f=str(one), d=str(folder))
    assert told.verdicts == {"a": "cached"}
    one.write_text("other", encoding="utf-8")
    told = retry_as_planned(run, workflow, home, f=str(one))
    assert told.verdicts == {"a": "runs"}
    assert told.result.steps["a"].outputs == {"result": "other2"}


def test_a_file_that_a_new_parameter_brings_back_is_there(home: Path, tmp_path: Path) -> None:
    """The retry stores the parameter first, and with it what a step has made of it."""
    data = tmp_path / "data"
    data.write_text("data", encoding="utf-8")
    make = kept("a", "printf data > f", outputs=[out("f", "file", "f")], result=None)
    fill(flow("w", make), home)
    [lost] = objects(home)
    lost.unlink()
    workflow = flow("w", make, parameters=[parameter("p", None, "file")])
    told = retry_as_planned(another(home), workflow, home, p=str(data))
    assert told.verdicts == {"a": "cached"}


def test_conditions_and_items_are_those_of_cached_outputs(home: Path) -> None:
    workflow = flow(
        "w",
        kept("pick", "echo '[3, 4]'", result="list"),
        kept("size", "echo 2", result="int"),
        sh("few", "true", when=compare(ref("size"), "<", 3), depends_on=["size"]),
        sh("many", "true", when=compare(ref("size"), ">", 3), depends_on=["size"]),
        kept("each", "echo $1", item(), foreach=ref("pick")),
        kept("sum", "echo $1", ref("each")),
        sh("late", "true", depends_on=["many"]),
    )
    fill(workflow, home)
    told = retry_as_planned(another(home), workflow, home)
    assert told.verdicts == {
        "pick": "cached",
        "size": "cached",
        "few": "runs",
        "many": "skipped",
        "each[0]": "cached",
        "each[1]": "cached",
        "sum": "cached",
        "late": "runs",
    }
    assert told.reasons["few"] == "it depends on size, which is cached"
    assert told.reasons["late"] == "it depends on many, which comes after what is not reused"


def test_a_changed_step_leaves_open_only_what_reads_it(home: Path) -> None:
    def workflow(script: str) -> Workflow:
        return flow(
            "w",
            sh("a", script),
            kept("by-order", "echo 5", depends_on=["a"]),
            kept("by-data", "echo $1", ref("a")),
            kept("behind", "echo $1", ref("by-order")),
        )

    first = fill(workflow("echo 1"), home)
    told = retry_as_planned(first, workflow("true; echo 1"), home)
    assert told.verdicts == {
        "a": "runs",
        "by-order": "cached",
        "by-data": "runs",
        "behind": "cached",
    }
    assert told.reasons["by-data"] == f"it depends on a, which runs; cache: {UNKNOWN_INPUTS}"
    # It had said the same, and so the cache had what reads it.
    assert told.result.steps["by-data"].status == "cached"
    told = retry_as_planned(first, workflow("echo 2"), home)
    assert told.result.steps["by-data"].status == "succeeded"


def test_items_of_which_the_cache_has_some(home: Path) -> None:
    def workflow(*words: str) -> Workflow:
        return flow(
            "w",
            kept("one", "echo $1", item(), foreach=list(words)),
            kept("two", "echo $1$1", item(), foreach=ref("one")),
            kept(
                "both",
                "echo $1 $2",
                item("n"),
                item("m"),
                foreach={"n": ref("one"), "m": ref("two")},
            ),
            kept("all", "echo $1", ref("two")),
            kept("count", "true", foreach=ref("two"), depends_on=["all"]),
        )

    fill(workflow("a", "b", "c"), home)
    told = retry_as_planned(another(home), workflow("a", "new", "c"), home)
    assert told.verdicts == {
        "one[0]": "cached",
        "one[1]": "runs",
        "one[2]": "cached",
        "two[0]": "cached",
        "two[1]": "runs",
        "two[2]": "cached",
        "both[0]": "cached",
        "both[1]": "runs",
        "both[2]": "cached",
        "all": "runs",
        "count[0]": "cached",
        "count[1]": "cached",
        "count[2]": "cached",
    }
    assert told.reasons["two[1]"] == f"it depends on one, which runs; cache: {UNKNOWN_INPUTS}"


def test_exit_handlers_take_from_the_cache_too(home: Path) -> None:
    def workflow(said: str) -> Workflow:
        told = kept(
            "m", "echo $1", or_else(ref("b"), ""), inputs=[given("status", RunRef(field="status"))]
        )
        open_ = kept("n", "echo $1", or_else(ref("a"), ""))
        return flow(
            "w",
            sh("a", f"echo {said}"),
            kept("b", "echo 2"),
            exit_handlers=[
                ExitHandler(name="end", on="any", steps=(told, open_)),
                ExitHandler(name="bad", on="failure", steps=(kept("m", "true"),)),
            ],
        )

    told = retry_as_planned(fill(workflow("1"), home), workflow("2"), home)
    assert told.verdicts == {
        "a": "runs",
        "b": "reused",
        "exit:end/m": "cached",
        "exit:end/n": "runs",
    }
    assert told.reasons["exit:end/n"] == (
        f"it runs after the steps, and not all of them are reused; cache: {UNKNOWN_INPUTS}"
    )


def test_what_comes_after_something_cached_is_not_reused(home: Path) -> None:
    """The step has succeeded in this run, but before what it waits for."""
    workflow = flow("w", kept("a", "echo 1"), sh("b", "true", depends_on=["a"]), sh("c", "true"))
    fill(workflow, home)
    plain = workflow.steps[0].model_copy(update={"cache": None, "action": sh("a", "echo 0").action})
    first = fill(flow("w", plain, *workflow.steps[1:]), home)
    told = retry_as_planned(first, workflow, home)
    assert told.verdicts == {"a": "cached", "b": "runs", "c": "reused"}


def test_values_that_cannot_be_read_run_and_fail_again(home: Path) -> None:
    workflow = flow(
        "w",
        kept("a", "echo word"),
        sh("b", "true", when=compare(ref("a"), "<", 3)),
        sh("c", "true", depends_on=["b"]),
    )
    failed = LOCAL.run(workflow, options=RunOptions(home=home))
    with nothing_changes(home):
        planned = LOCAL.plan_retry(failed.run_id, options=RunOptions(home=home))
    assert [(step.path, step.verdict) for step in planned] == [
        ("a", "reused"),
        ("b", "runs"),
        ("c", "runs"),
    ]
    assert "it is not one" in str(planned[1].reason)


@pytest.mark.parametrize("verdict", ["reused", "runs", "skipped", "omitted", "cached"])
@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_wrong_plan_is_found(home: Path, verdict: t.Any, step: int) -> None:
    workflow = flow(
        "w", kept("a", "echo 1"), sh("b", "true"), sh("c", "true", when=compare(ref("a"), ">", 2))
    )
    fill(workflow, home)
    told = retry_as_planned(another(home), workflow, home)
    agree(workflow, told.planned, told.result)
    right = told.planned[step]
    wrong = tuple(
        replace(it, verdict=verdict) if it.path == right.path else it for it in told.planned
    )
    if verdict != right.verdict:
        with pytest.raises(AssertionError):
            agree(workflow, wrong, told.result)
    with pytest.raises(AssertionError):
        agree(workflow, tuple(it for it in told.planned if it is not right), told.result)


@pytest.mark.parametrize(
    "change",
    [
        lambda home: (home / "store" / "new").touch(),
        lambda home: alter(objects(home)[0]),
        lambda home: objects(home)[0].unlink(),
        lambda home: _execute(home, "UPDATE cache_entries SET hits = hits + 1"),
        lambda home: _execute(home, "DELETE FROM cache_entries"),
    ],
)
def test_a_change_is_found(home: Path, change: Callable[[Path], None]) -> None:
    fill(flow("w", kept("a", "echo 1 > f", outputs=[out("f", "file", "f")])), home)
    with pytest.raises(AssertionError), nothing_changes(home):
        change(home)
    with nothing_changes(home):
        pass


def _execute(home: Path, statement: str) -> None:
    connection = sqlite3.connect(home / "couler.db")
    connection.execute(statement)
    connection.commit()
    connection.close()
