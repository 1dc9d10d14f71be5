"""The nodes in the status of a Workflow: what Argo knows of each step, plain or compressed."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from couler.backends.remote import Json
from couler.errors import EngineError

_LARGEST = 256 << 20
"""How many bytes of nodes are read."""


def read_nodes(workflow: Json) -> dict[str, Json]:
    """Return the nodes of a Workflow by their ids, as Argo keeps them."""
    status = workflow.get("status") or {}
    packed = status.get("compressedNodes")
    if packed:
        return _unpacked(packed, _name(workflow))
    nodes: dict[str, Json] | None = status.get("nodes")
    if nodes is None and status.get("offloadNodeStatusVersion"):
        raise EngineError(
            f"argo: the steps of the workflow {_name(workflow)} are kept in a database of Argo's "
            "(nodeStatusOffLoad), which only the Argo Server reads. Give the target the address "
            'of an Argo Server: server = "https://..."'
        )
    return nodes or {}


def with_nodes(workflow: Json, nodes: Mapping[str, Json]) -> Json:
    """Return a Workflow with other nodes, compressed if they were."""
    status = dict(workflow.get("status") or {})
    if status.get("compressedNodes"):
        text = json.dumps(nodes, ensure_ascii=False, separators=(",", ":"))
        # The time that gzip writes would make equal nodes unequal.
        status["compressedNodes"] = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
    else:
        status["nodes"] = dict(nodes)
    return {**workflow, "status": status}


def _unpacked(packed: str, name: str) -> dict[str, Json]:
    problem: Exception | str
    try:
        content = base64.b64decode(packed, validate=True)
        # Argo 4.1 can be told to use other ways of compression.
        engine = zlib.decompressobj(wbits=31)
        text = engine.decompress(content, _LARGEST)
        if engine.eof:
            nodes: dict[str, Json] = json.loads(text)
            return nodes
        problem = "they are too large" if engine.unconsumed_tail else "they are cut off"
    except (binascii.Error, zlib.error, ValueError) as error:
        problem = error
    raise EngineError(
        f"argo: the steps of the workflow {name} are packed in a way that cannot be read "
        f"({problem}). Leave WORKFLOW_COMPRESSION_ALGORITHM of Argo's controller at gzip, or give "
        "the target the address of an Argo Server"
    )


def _name(workflow: Json) -> str:
    return str((workflow.get("metadata") or {}).get("name", ""))


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a Workflow's status."""

    tree: Mapping[str, Json]

    @property
    def id(self) -> str:
        """Id of the node, which its Workflow knows it by."""
        return str(self.tree["id"])

    @property
    def name(self) -> str:
        """Its full name, which tells where in the run it is."""
        return str(self.tree["name"])

    @property
    def type(self) -> str:
        """Pod, DAG, TaskGroup, Retry, Suspend, Skipped and so on."""
        return str(self.tree["type"])

    @property
    def phase(self) -> str:
        """Pending, Running, Succeeded, Skipped, Omitted, Failed or Error."""
        return self.tree.get("phase") or "Pending"

    @property
    def message(self) -> str | None:
        """What Argo says of it."""
        return self.tree.get("message") or None

    @property
    def boundary_id(self) -> str:
        """The id of the node of the template that it was made by."""
        return self.tree.get("boundaryID") or ""

    @property
    def children(self) -> tuple[str, ...]:
        """Ids of the nodes that follow it."""
        return tuple(self.tree.get("children") or ())

    @property
    def started(self) -> datetime | None:
        """Time at which the node started."""
        return read_time(self.tree.get("startedAt"))

    @property
    def finished(self) -> datetime | None:
        """Time at which the node finished."""
        return read_time(self.tree.get("finishedAt"))

    @property
    def host(self) -> str | None:
        """Name of the machine that its pod ran on; None before it has one."""
        return self.tree.get("hostNodeName") or None

    @property
    def has_ended(self) -> bool:
        """Whether nothing more happens to it."""
        return self.phase not in ("Pending", "Running")

    @property
    def has_failed(self) -> bool:
        """Whether it ended, and not well."""
        return self.phase in ("Failed", "Error")

    @property
    def has_run(self) -> bool:
        """Whether anything of it was begun."""
        return self.phase not in ("Skipped", "Omitted")

    @property
    def is_cached(self) -> bool:
        """Whether its outputs come from a cache."""
        return bool((self.tree.get("memoizationStatus") or {}).get("hit"))

    @property
    def is_hook(self) -> bool:
        """Whether it is a hook of another."""
        return bool((self.tree.get("nodeFlag") or {}).get("hooked"))

    @property
    def _outputs(self) -> Mapping[str, Json]:
        return self.tree.get("outputs") or {}

    @property
    def exit_code(self) -> int | None:
        """Exit code of its main container."""
        code = self._outputs.get("exitCode")
        return None if code is None else int(code)

    @property
    def result(self) -> str | None:
        """Its standard output, less the final newline."""
        return self._outputs.get("result")

    @property
    def parameters(self) -> dict[str, str]:
        """Its output parameters that have a value."""
        given = self._outputs.get("parameters") or ()
        return {one["name"]: one["value"] for one in given if one.get("value") is not None}

    @property
    def artifacts(self) -> dict[str, str]:
        """Where its output artifacts are, by name: their keys, or addresses."""
        found = ((one["name"], place(one)) for one in self._outputs.get("artifacts") or ())
        return {name: where for name, where in found if where is not None}


def place(artifact: Mapping[str, Json]) -> str | None:
    """Return where an artifact is: its key in its repository, or its address."""
    for source in artifact.values():
        if isinstance(source, dict):
            for field in ("key", "path", "url", "repo"):
                if isinstance(source.get(field), str):
                    return str(source[field])
    return None


class NodeTree:
    """The nodes of a Workflow, by the templates that made them."""

    def __init__(self, name: str, nodes: Mapping[str, Json]) -> None:
        self.name = name
        self._nodes = {key: Node(tree) for key, tree in nodes.items()}
        self._attempts = {
            child
            for node in self._nodes.values()
            if node.type == "Retry"
            for child in node.children
        }

    @classmethod
    def of(cls, workflow: Json) -> NodeTree:
        """Return the nodes of a Workflow; of one that is over, all have ended."""
        return cls(_name(workflow), settled_nodes(workflow))

    @cached_property
    def _by_boundary(self) -> dict[str, list[Node]]:
        found: dict[str, list[Node]] = {}
        for node in self._nodes.values():
            if node.id not in self._attempts and not node.is_hook:
                found.setdefault(node.boundary_id, []).append(node)
        return found

    def find(self, node_id: str) -> Node | None:
        """Return the node of an id."""
        return self._nodes.get(node_id)

    @property
    def root(self) -> Node | None:
        """The node of the entrypoint; None before it is made."""
        return self._nodes.get(self.name)

    @property
    def on_exit(self) -> Node | None:
        """The node of the exit handlers; None before they begin."""
        wanted = f"{self.name}.onExit"
        return next((node for node in self._nodes.values() if node.name == wanted), None)

    def inside(self, boundary: Node) -> dict[str, Node]:
        """Return the nodes that a template made, by the part of their names after its own."""
        prefixes = (f"{boundary.name}.", f"{boundary.name}[0].")  # of a DAG, of steps
        return {
            node.name.removeprefix(prefix): node
            for node in self._by_boundary.get(boundary.id, ())
            for prefix in prefixes
            if node.name.startswith(prefix)
        }

    def attempts(self, node: Node) -> tuple[Node, ...]:
        """Return the attempts of a node, the first first; itself if it is not tried again."""
        if node.type != "Retry":
            return (node,)
        found = [self._nodes[child] for child in node.children if child in self._nodes]
        return tuple(sorted((one for one in found if not one.is_hook), key=attempt_number))


def settled_nodes(workflow: Json) -> dict[str, Json]:
    """Return the nodes of a Workflow by their ids; of one that is over, all have ended."""
    nodes = read_nodes(workflow)
    if not is_over(workflow):
        return dict(nodes)
    end = workflow["status"].get("finishedAt")
    return {key: _ended(tree, end) for key, tree in nodes.items()}


def is_over(workflow: Json) -> bool:
    """Return whether nothing of a Workflow runs any more, its exit handlers among it."""
    return (workflow.get("status") or {}).get("phase") in ("Succeeded", "Failed", "Error")


def _ended(tree: Json, end: str | None) -> Json:
    """Return a node of a Workflow that is over."""
    if tree.get("phase") == "Running":
        told = tree.get("message") or "the run ended before it did"
        return {
            **tree,
            "phase": "Error",
            "finishedAt": tree.get("finishedAt") or end,
            "message": told,
        }
    if tree.get("phase") in (None, "", "Pending"):
        return {**tree, "phase": "Omitted", "finishedAt": end}
    return tree


def attempt_number(node: Node) -> int:
    """The number in the name of an attempt, such as 1 in `run.fit(1)`."""
    number = node.name.rpartition("(")[2].rstrip(")")
    return int(number) if number.isdecimal() else -1


def read_time(text: str | None) -> datetime | None:
    """Return a time of Kubernetes."""
    return datetime.fromisoformat(text) if text else None
