"""What Argo's own retry of a workflow would run again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from couler.backends.argo.loops import LIMIT_TEMPLATE
from couler.backends.argo.status_nodes import Node, read_nodes
from couler.backends.remote import Json

PROCESSES = frozenset({"Container", "HTTP", "Plugin", "Pod"})
"""Types of nodes that run something."""


def deleted_by_retry(workflow: Json) -> frozenset[str]:
    """Return the ids of the nodes that Argo's own retry of an ended workflow would delete."""
    name: str = workflow["metadata"]["name"]
    nodes = {key: Node(tree) for key, tree in read_nodes(workflow).items()}
    retried = _retried(nodes)
    deleted = {
        key
        for key, node in nodes.items()
        if node.name == f"{name}.onExit" or node.name.startswith(f"{name}.onExit.")
    }
    from_root = {name, *_after(nodes, name)} if name in nodes else set()
    for key in from_root:
        node = nodes[key]
        if not node.has_failed or node.type not in PROCESSES:
            continue
        looked_at = retried.get(key, key)  # of a step that is tried again, the step counts
        if any(nodes[one].phase == "Succeeded" for one in _after(nodes, looked_at)):
            continue
        whole = node.boundary_id if node.type == "Container" else key
        deleted |= {key, whole, *_after(nodes, key), *_after(nodes, whole)} & nodes.keys()
    return frozenset(deleted)


def runs_the_same(workflow: Json, gone: frozenset[str]) -> bool:
    """Return whether Argo's own retry runs what deleting some nodes runs."""
    processes = {
        key
        for key, tree in read_nodes(workflow).items()
        if tree["type"] in (*PROCESSES, "Suspend")
        and tree.get("phase") not in _NOT_RUN
        and tree.get("templateName") != LIMIT_TEMPLATE  # it tells the same again
    }
    return processes & gone == processes & deleted_by_retry(workflow)


_NOT_RUN = ("Skipped", "Omitted")


def _retried(nodes: Mapping[str, Node]) -> dict[str, str]:
    """Return for each attempt the node of what is tried again."""
    return {
        child: key
        for key, node in nodes.items()
        if node.type == "Retry"
        for child in node.children
        if child in nodes and (nodes[child].tree.get("nodeFlag") or {}).get("retried")
    }


def _after(nodes: Mapping[str, Node], start: str) -> Iterator[str]:
    """Yield the ids of all nodes that Argo's graph has below one."""
    seen = {start}
    waiting = [start]
    while waiting:
        node = nodes.get(waiting.pop())
        for child in node.children if node is not None else ():
            if child in nodes and child not in seen:
                seen.add(child)
                waiting.append(child)
                yield child
