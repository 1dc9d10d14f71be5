"""Status and restart of a run in parts, from nodes that Argo's own controller has made."""

from __future__ import annotations

import json
import typing as t

from couler.backends.argo import ArgoBackend
from couler.backends.argo.observe import Observer
from couler.backends.argo.reset import reset
from couler.backends.argo.status_nodes import read_nodes
from couler.backends.base import Target
from tests.support import argo_moments

OBSERVER = Observer(argo_moments.PARTS)


def run() -> t.Any:
    text = ArgoBackend().compile(argo_moments.PARTS, Target(), format="json").to_text()
    found = argo_moments.read("parts")
    return {**found, "spec": json.loads(text)["spec"]}


def restarted(*again: str) -> dict[str, str]:
    """The phases of the nodes when some steps are to run again."""
    found = run()
    look = OBSERVER.look(found)
    paths = {node.id: path for path, node in look.nodes.items()}
    ids = {look.places[path].id for path in again}
    nodes = read_nodes(reset(found, found["spec"], paths, ids).workflow)
    return {node["name"].partition(".")[2]: node["phase"] for node in nodes.values()}


def test_steps_in_parts_are_told_at_their_own_paths() -> None:
    found = OBSERVER.observe(run())
    assert {str(seen.path): seen.status for seen in found.steps} == {
        "good": "succeeded",
        "bad": "failed",
        "after": "omitted",
        "inside": "succeeded",
        "inside/a": "succeeded",
        "inside/b": "succeeded",
        "last": "succeeded",
    }
    assert found.status == "failed"
    [inside] = [seen for seen in found.steps if str(seen.path) == "inside"]
    assert inside.outputs == {"text": {"text": "2", "type": "str"}}


def test_what_runs_again_is_gone_and_all_parts_behind_it_open() -> None:
    found = restarted("bad", "after")
    assert not {"p1.bad", "p2.after", "ends", "p1.ends", "p2.ends"} & found.keys()
    assert {found[part] for part in ("", "p1", "p2", "p3")} == {"Running"}
    assert {found[step] for step in ("p1.good", "p2.inside", "p3.last")} == {"Succeeded"}


def test_a_group_in_a_part_that_is_kept_is_as_it_was() -> None:
    before = {node["name"].partition(".")[2]: node["phase"] for node in read_nodes(run()).values()}
    inside = {name for name in before if name.startswith("p2.inside")}
    after = restarted("bad", "after")
    assert {name: after.get(name) for name in inside} == {name: before[name] for name in inside}


def test_a_gate_stays_where_a_step_behind_it_is_kept() -> None:
    found = restarted("bad", "after")
    gates = {name for name in found if name.startswith("p2.g")}
    assert len(gates) == 1  # that of `good`; the one of `bad` is looked at anew


def test_a_part_behind_which_nothing_is_kept_is_gone_as_a_whole() -> None:
    found = restarted("inside/a", "inside/b", "last", "bad", "after")
    assert {name for name in found if name.startswith(("p2", "p3"))} == set()
    assert found["p1.good"] == "Succeeded"
