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


def test_a_gate_stays_where_a_step_behind_it_is_kept() -> None:
    found = restarted("bad", "after")
    gates = {name for name in found if name.startswith("p2.g")}
    assert len(gates) == 1  # that of `good`; the one of `bad` is looked at anew
