"""Runs under a budget: what is on the disk after them, and what later runs find there."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.budget import judging
from couler.caching.policies.simple import LeastRecentlyUsed
from couler.caching.policy import Knowledge
from couler.ir.policies import Cache
from couler.ir.values import ParamRef
from couler.ir.workflow import Input, Parameter, Step, Workflow
from couler.state import open_database
from couler.state.cache import list_entries, stats_of_cache
from couler.state.home import Home
from couler.state.results import Event, RunResult
from couler.state.runs import cache_decisions_of
from couler.store import ObjectStore
from tests.corpus.build import flow, given, out, ref, sh

LOCAL = LocalBackend()
KIB = 1024


def blob(name: str, letter: str, kib: int, *, cached: bool = True, fails: bool = False) -> Step:
    """Return a step that makes a file of so much of a letter, and of what it reads."""
    script = f"head -c {kib * KIB} /dev/zero | tr '\\0' {letter} > f"
    if fails:
        script = f"{script}; exit 1"
    files = [out("f", "file", "f")]
    return sh(name, script, result=None, outputs=files, cache=Cache() if cached else None)


def count(name: str, of: str, *, cached: bool = False) -> Step:
    inputs = [given("f", ref(of, "f"), "file")]
    cache = Cache() if cached else None
    return sh(name, "wc -c < $COULER_INPUT_f", inputs=inputs, cache=cache)


def run(workflow: Workflow, home: Path, **options: object) -> RunResult:
    return LOCAL.run(workflow, options=RunOptions(home=home, jobs=2, **options))  # type: ignore[arg-type]  # a shorthand


def sizes(home: Path) -> list[int]:
    """The files in the store, in KiB."""
    return sorted(item.size // KIB for item in ObjectStore(Home(home).store_url).objects())


def kept(home: Path) -> dict[str, int]:
    with open_database(Home(home).database_url) as database:
        return {entry.step: entry.size_bytes // KIB for entry in list_entries(database)}


def three(*letters: str) -> Workflow:
    """A workflow of cached steps of 100 KiB, each with a reader."""
    steps = [blob(f"make-{letter}", letter, 100) for letter in letters]
    readers = [count(f"read-{letter}", f"make-{letter}") for letter in letters]
    return flow("w", *steps, *readers)


def test_the_budget_bounds_the_disk_once_a_run_has_succeeded(tmp_path: Path) -> None:
    budget = 250 * KIB
    result = run(three("a", "b", "c"), tmp_path, cache_budget=budget, cache_policy="lru")
    assert result.status == "succeeded"
    assert sizes(tmp_path) == [100, 100]
    assert sum(kept(tmp_path).values()) == 200


def test_what_was_evicted_is_made_again_and_is_no_error(tmp_path: Path) -> None:
    options = {"cache_budget": 150 * KIB, "cache_policy": "lru"}
    for _ in range(3):
        result = run(three("a", "b"), tmp_path, **options)
        assert result.steps["read-a"].outputs == {"result": str(100 * KIB)}
        assert sizes(tmp_path) == [100]
    with open_database(Home(tmp_path).database_url) as database:
        stats = stats_of_cache(database)
    assert stats.evicted >= 3
    assert stats.lost_s > 0


def test_a_store_that_serves_others_keeps_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose files are garbage to one database can be needed by another of the same store."""
    store = f"file://{tmp_path / 'shared'}"
    first, second = tmp_path / "first", tmp_path / "second"
    make = blob("make", "a", 100, cached=False)
    workflow = flow("w", make, outputs=(out("f", "file", source=ref("make", "f")),))
    monkeypatch.setenv("COULER_STORE_URL", store)
    run(workflow, first)
    for letter in "ab":
        run(three(letter), second, cache_budget=150 * KIB, cache_policy="lru")
    assert kept(second) == {"make-b": 100}
    files = [item.size // KIB for item in ObjectStore(store).objects()]
    assert files == [100, 100]


def test_evictions_are_told_and_recorded(tmp_path: Path) -> None:
    events: list[Event] = []
    workflow = three("a", "b")
    options = RunOptions(home=tmp_path, jobs=1, cache_budget=150 * KIB, cache_policy="lru")
    result = LOCAL.run(workflow, options=options, on_event=events.append)
    [told] = [event for event in events if event.kind == "evicted"]
    assert told.message is not None
    assert told.message.startswith("w/make-")
    assert "lru: of least worth when make-" in told.message
    with open_database(Home(tmp_path).database_url) as database:
        decisions = [one.decision for one in cache_decisions_of(database, result.run_id)]
    assert sorted(decisions) == ["evicted", "miss", "miss", "stored", "stored"]


class NoIdea(LeastRecentlyUsed):
    """A policy of somebody else that fails as soon as it is to compare."""

    def worth(self, key: str, known: Knowledge) -> float:
        raise ZeroDivisionError("division by zero")


def test_a_policy_that_fails_costs_no_run_and_no_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(three("a"), tmp_path)
    run(three("b"), tmp_path)
    assert kept(tmp_path) == {"make-a": 100, "make-b": 100}
    monkeypatch.setattr(judging, "read_policy", lambda _: NoIdea())
    events: list[Event] = []
    options = RunOptions(home=tmp_path, jobs=1, cache_budget=150 * KIB, cache_policy="noidea")
    result = LOCAL.run(three("a", "c", "d"), options=options, on_event=events.append)
    assert result.status == "succeeded"
    assert result.steps["make-a"].status == "cached"
    [told] = [event for event in events if event.kind == "warned"]
    assert told.message is not None
    assert told.message.startswith("the cache policy NoIdea: worth failed for ")
    assert "ZeroDivisionError: division by zero" in told.message
    # What is over the budget goes all the same: of a, which was hit, and b, which was not, b.
    assert kept(tmp_path) == {"make-a": 100}
    with open_database(Home(tmp_path).database_url) as database:
        decisions = {
            (one.path, one.decision): one.reason
            for one in cache_decisions_of(database, result.run_id)
        }
    assert "worth failed" in decisions["make-c", "rejected"]
    [evicted] = [reason for (_, kind), reason in decisions.items() if kind == "evicted"]
    assert evicted.startswith("used longest ago, and all is too much; the cache policy NoIdea")


def test_a_running_run_keeps_what_it_reads(tmp_path: Path) -> None:
    """What is refused or evicted while its reader waits is there for it."""
    made = [blob(f"make-{letter}", letter, 100) for letter in "abc"]
    files = [given(letter, ref(f"make-{letter}", "f"), "file") for letter in "abc"]
    texts = " ".join(f"$COULER_INPUT_{letter}" for letter in "abc")
    read = sh("read", f"cat {texts} | wc -c", inputs=files)
    result = run(flow("w", *made, read), tmp_path, cache_budget=100 * KIB + 100)
    assert result.steps["read"].outputs == {"result": str(300 * KIB)}
    assert sizes(tmp_path) == [100]


def test_a_run_that_failed_keeps_what_its_retry_takes_over(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    read = count("read", "make-a")
    fails = sh("fails", f"test -e {marker}", result=None)
    workflow = flow("w", blob("make-a", "a", 100), blob("make-b", "b", 100), read, fails)
    options = RunOptions(home=tmp_path / "home", jobs=1, cache_budget=50 * KIB)
    first = LOCAL.run(workflow, options=options)
    assert first.status == "failed"
    assert sizes(tmp_path / "home") == [100, 100]
    marker.touch()
    again = LOCAL.retry(first.run_id, options=options)
    assert again.status == "succeeded"
    assert again.steps["make-a"].reused
    assert sizes(tmp_path / "home") == []


def test_a_file_that_a_run_was_started_with_stays(tmp_path: Path) -> None:
    """Though the cache gives up an output of the same content."""
    data = tmp_path / "data"
    data.write_bytes(b"x" * 10 * KIB)
    copy = sh(
        "copy",
        "cp $COULER_INPUT_data f",
        result=None,
        inputs=[Input(name="data", type="file", value=ParamRef(name="data"))],
        outputs=[out("f", "file", "f")],
        cache=Cache(),
    )
    workflow = flow("w", copy).model_copy(
        update={"parameters": (Parameter(name="data", type="file"),)}
    )
    options = RunOptions(home=tmp_path / "home", cache_budget=0)
    first = LOCAL.run(workflow, parameters={"data": str(data)}, options=options)
    assert sizes(tmp_path / "home") == [10]
    data.unlink()
    again = LOCAL.retry(first.run_id, options=options, from_step="copy")
    assert again.status == "succeeded"


def test_a_smaller_budget_takes_effect_at_the_end_of_the_next_run(tmp_path: Path) -> None:
    """What runs have left before there was any is the cache's as well."""
    run(three("a", "b"), tmp_path)
    assert sizes(tmp_path) == [100, 100]
    run(flow("other", sh("a", "true", result=None)), tmp_path, cache_budget=150 * KIB)
    assert sizes(tmp_path) == [100]
