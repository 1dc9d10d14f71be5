"""The `depends` of a task says no wait twice, where the state of the run cannot change by it."""

from __future__ import annotations

import json
import typing as t

from couler import stages
from tests.corpus.build import any_of, compare, flow, on_completion, sh


def steps_of(*waits: tuple[str, tuple[t.Any, ...]]) -> dict[str, t.Any]:
    made = [sh(name, "true", depends_on=before) for name, before in waits]
    text = stages.compile(flow("flow", *made), "argo", format="json").to_text()
    [main] = [one for one in json.loads(text)["spec"]["templates"] if one["name"] == "main"]
    return {one["name"]: one.get("depends") for one in main["dag"]["tasks"]}


def test_a_wait_that_another_says_too_is_left_out() -> None:
    found = steps_of(("a", ()), ("b", ("a",)), ("c", ("a", "b")))
    assert found == {"a": None, "b": "a", "c": "b"}


def test_waits_stay_where_the_other_may_run_without_them() -> None:
    after = ("b", (on_completion("a"),)), ("c", (any_of("a", "b"),))
    found = steps_of(("a", ()), *after, ("d", ("a", "b", "c")))
    ended = " || ".join(f"b.{state}" for state in ("Succeeded", "Skipped", "Daemoned", "Omitted"))
    assert found["d"] == f"a && ({ended}) && c"


def test_an_alternative_that_another_says_too_is_left_out() -> None:
    either = any_of("a", "b")
    found = steps_of(("a", ()), ("b", ()), ("c", (either,)), ("d", (either, "c")))
    assert (found["c"], found["d"]) == ("(a || b)", "c")


def test_waits_of_a_map_and_of_what_asks_for_an_end_stay() -> None:
    first = sh("x", "true"), sh("a", "true"), sh("b", "true", depends_on=["a"])
    each = sh("c", "true", depends_on=["a", "b"], foreach=[1, 2])
    end = sh("d", "true", depends_on=["a", "b", on_completion("x")])
    text = stages.compile(flow("flow", *first, each, end), "argo", format="json").to_text()
    [main] = [one for one in json.loads(text)["spec"]["templates"] if one["name"] == "main"]
    *_, c, d = main["dag"]["tasks"]
    assert c["depends"] == "a && b"
    assert d["depends"].startswith("a && b && (x.Succeeded")


def test_waits_of_a_step_that_may_be_skipped_stay() -> None:
    made = [
        sh("x", "false"),
        sh("a", "true", depends_on=[on_completion("x")], when=compare("1", "==", "2")),
        sh("b", "true", depends_on=["a"]),
        sh("c", "true", depends_on=["a", "b"], when=compare("1", "==", "2")),
    ]
    text = stages.compile(flow("flow", *made), "argo", format="json").to_text()
    [main] = [one for one in json.loads(text)["spec"]["templates"] if one["name"] == "main"]
    waits = main["dag"]["tasks"][-1]["depends"].split(" && ")
    assert len(waits) == 2
