"""Plans of retries with the cache: a retry does what its plan says, and a plan changes nothing."""

from __future__ import annotations

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
    ref,
    sh,
)
from tests.support.retry_plans import (
    UNKNOWN_INPUTS,
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


def test_a_lost_list_of_a_directory_that_was_made_before_stays_where_it_is(home: Path) -> None:
    workflow = flow(
        "w", sh("a", "mkdir f; echo data > f/g", outputs=[out("f", "directory", "f")], result=None)
    )
    run = fill(workflow, home)
    [listing] = [path for path in objects(home) if b"entries" in path.read_bytes()]
    alter(listing)
    assert retry_as_planned(run, workflow, home).verdicts == {"a": "runs"}


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
