"""A Workflow and the Workflows that it has made of its parts, seen as one."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from couler.backends.argo.child_runs import PART_STEP
from couler.backends.argo.parts import PART_TEMPLATE
from couler.backends.argo.reset import has_ended
from couler.backends.argo.status_nodes import Node, is_over, settled_nodes
from couler.backends.argo.workflow_api import TEMPLATE_MARK, Change, WorkflowApi
from couler.backends.remote import Json
from couler.errors import LostRunError
from couler.rest.client import RestError

_NO_WATCH = 405


class Family:
    """Workflows with their children, from Argo."""

    def __init__(self, api: WorkflowApi) -> None:
        self._api = api

    def get(self, name: str) -> Json:
        """Return a Workflow with the nodes of its children in it."""
        return self._whole(self._api.get(name))

    def snapshot(self, name: str) -> tuple[Json, str]:
        """Return the same, and the version of the parent."""
        found, version = self._api.snapshot(name)
        return self._whole(found), version

    def watch(self, name: str, since: str) -> Iterator[Change]:
        """Refuse: changes of several Workflows are not told as one, so they are looked at."""
        reason = f"the changes of the children of {name} are not told"
        raise RestError(f"argo: {reason}", code=_NO_WATCH, reason=reason)

    def _whole(self, found: Json) -> Json:
        return with_children(found, children_of(self._api, found))


def children_of(api: WorkflowApi, found: Json) -> Sequence[Json]:
    """Return the Workflows that one has made of its parts."""
    uid = found["metadata"].get("uid")
    return api.children(uid) if uid else ()


def stop_children(api: WorkflowApi, found: Json) -> None:
    """End the children of a Workflow that go on."""
    for child in children_of(api, found):
        if is_over(child) or has_ended(child):  # one that waits to be taken up again does nothing
            continue
        try:
            api.stop(child["metadata"]["name"])
        except LostRunError:  # it has gone with its parent
            continue


class PartRun(t.NamedTuple):
    """A part with a run of its own, as it is there."""

    child: Json
    """The Workflow of the part."""
    place: Json
    """The node in the parent that waits for it: of all its tries."""
    part: Json | None
    """The node of the part in the child; None where it has not begun."""


class Joined(t.NamedTuple):
    """The nodes of a Workflow and of its children, as those of one."""

    nodes: dict[str, Json]
    parts: tuple[PartRun, ...]
    told: Mapping[str, str]
    """What children say of themselves whose nodes have no place, by their templates."""


def with_children(workflow: Json, children: Iterable[Json]) -> Json:
    """A Workflow with the nodes of its children in the places of those that wait for them."""
    nodes, _, told = joined(workflow, children)
    whole = with_joined(workflow, nodes)
    if is_over(workflow) and (message := _not_made(nodes, told)) is not None:
        whole["status"]["message"] = message
    return whole


def with_joined(workflow: Json, nodes: Mapping[str, Json]) -> Json:
    """Return a Workflow that has these nodes."""
    status = {**(workflow.get("status") or {}), "nodes": dict(nodes)}
    status.pop("compressedNodes", None)
    return {**workflow, "status": status}


def joined(
    workflow: Json,
    children: Iterable[Json],
    nodes_of: Callable[[Json], dict[str, Json]] = settled_nodes,
) -> Joined:
    """Return the nodes of a Workflow and of its children."""
    nodes = dict(nodes_of(workflow))
    places = _places(nodes)
    parts: list[PartRun] = []
    told: dict[str, str] = {}
    for child in children:
        mark = (child["metadata"].get("annotations") or {}).get(TEMPLATE_MARK)
        place = places.get(mark)
        inside = nodes_of(child)
        part = next((one for one in inside.values() if _is_part(one, mark)), None)
        if place is not None:
            parts.append(PartRun(child, place, part))
        if place is None or part is None:
            told[mark or ""] = (child.get("status") or {}).get("message") or ""
            continue
        for waiting in (place["id"], *(place.get("children") or ())):
            if (nodes.get(waiting) or {}).get("templateName") == mark:
                del nodes[waiting]
        nodes.update(_moved(child, inside, part, place))
    return Joined(nodes, tuple(parts), told)


def _not_made(nodes: dict[str, Json], told: Mapping[str, str]) -> str | None:
    """Return why a part has no run, or one that has begun nothing; no step of it can tell."""
    for node in nodes.values():
        template = node.get("templateName") or ""
        is_waiting = template.startswith(PART_TEMPLATE) and node["type"] in ("Pod", "Retry")
        if is_waiting and node.get("phase") in ("Failed", "Error"):
            part = template.removeprefix(PART_TEMPLATE)
            message = told.get(template) or node.get("message") or "no reason is given"
            return f"the run of its part {part} did not begin: {message}"
    return None


def _places(nodes: dict[str, Json]) -> dict[str | None, Json]:
    """The nodes of templates; where one is tried again, the node of all tries."""
    found: dict[str | None, Json] = {}
    for node in nodes.values():
        if node["type"] == "Retry" or node.get("templateName") not in found:
            found[node.get("templateName")] = node
    return found


def _is_part(node: Json, template: str | None) -> bool:
    name: str = node["name"]
    return node.get("templateName") == template and name.endswith(f".{PART_STEP}")


def _moved(child: Json, inside: dict[str, Json], part: Json, place: Json) -> dict[str, Json]:
    """The nodes of a part, with names and a boundary as if it were in the parent."""
    before, after = part["name"], place["name"]
    metadata = child["metadata"]
    found: dict[str, Json] = {}
    for key, node in inside.items():
        name: str = node["name"]
        if name != before and not name.startswith(f"{before}."):
            continue
        home = {"name": metadata["name"], "annotations": metadata.get("annotations") or {}}
        moved = {**node, "name": after + name[len(before) :], "home": {**home, "node": name}}
        if key == part["id"]:
            moved["boundaryID"] = place.get("boundaryID")
        found[key] = moved
    return found


def home_of(workflow: Json, node: Node) -> tuple[Json, Node]:
    """The Workflow that a node really is in, as far as its name goes, and it as it is there."""
    home = node.tree.get("home")
    if home is None:
        return workflow, node
    metadata = {"name": home["name"], "annotations": home.get("annotations") or {}}
    return {"metadata": metadata}, Node({**node.tree, "name": home["node"]})
