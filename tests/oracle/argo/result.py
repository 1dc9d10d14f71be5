"""What a run under Argo has given, read from the workflow and the pods that it leaves."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from couler.backends.argo.family import with_children
from couler.backends.argo.workflow_api import PARENT_LABEL
from tests.fakes.kubernetes.pod import Pod
from tests.fakes.kubernetes.selectors import selector
from tests.fakes.kubernetes.store import WORKFLOWS, Json
from tests.oracle.argo.cluster import EXECUTOR_IMAGE, Cluster, nodes_of

_OWN_VARIABLES = "ARGO_"


@dataclass(frozen=True)
class OracleNode:
    """A node of the workflow's status. Values are text, as Argo keeps them."""

    id: str
    name: str
    display_name: str
    type: str
    template_name: str
    phase: str
    message: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    result: str | None
    exit_code: int | None
    artifacts: Mapping[str, str]
    """Keys in the bucket of the output artifacts."""
    children: tuple[str, ...]
    boundary_id: str
    memoized: bool | None
    """Whether the cache had it; None without a cache."""


@dataclass(frozen=True)
class OraclePod:
    """A container of a pod, after the kubelet's rules and without Argo's own part."""

    name: str
    node_id: str
    template: str
    container: str
    command: tuple[str, ...]
    args: tuple[str, ...]
    env: Mapping[str, str]
    exit_code: int | None
    stdout: str
    stderr: str
    """Also has what the executor writes of itself, in lines that begin with ``time=``."""


@dataclass(frozen=True)
class OracleRun:
    """A workflow that has ended."""

    name: str
    phase: str
    message: str
    nodes: tuple[OracleNode, ...]
    outputs: Mapping[str, str]
    """Parameters with a global name. Those of the entrypoint are ``root.outputs``."""
    pods: tuple[OraclePod, ...]
    bucket: Path
    """The artifacts, each a file named by its key."""
    workflow: Mapping[str, t.Any]
    """The object as the controller left it."""
    whole: Mapping[str, object]
    """The same with the nodes of the runs that it has made of its parts."""

    @property
    def root(self) -> OracleNode:
        """The node of the entrypoint."""
        return next(node for node in self.nodes if node.id == self.name)

    def node(self, display_name: str) -> OracleNode:
        """The node of that display name, such as ``fit`` or ``fit(0:a)``.

        Raises
        ------
        LookupError
            There is none, or more than one.
        """
        found = [node for node in self.nodes if node.display_name == display_name]
        if len(found) != 1:
            names = sorted(node.display_name for node in self.nodes)
            raise LookupError(f"{len(found)} nodes are named {display_name!r}; there are {names}")
        return found[0]

    def pod(self, display_name: str) -> OraclePod:
        """The container ``main`` of the pod of a node."""
        node_id = self.node(display_name).id
        return next(pod for pod in self.pods if (pod.node_id, pod.container) == (node_id, "main"))

    def phases(self) -> dict[str, str]:
        """Phases by display name, without the entrypoint's own node."""
        return {node.display_name: node.phase for node in self.nodes if node.id != self.name}


def read_run(cluster: Cluster, workflow: Json) -> OracleRun:
    """Read what a workflow on a cluster has given."""
    status = workflow["status"]
    nodes = {key: _node(node) for key, node in nodes_of(workflow).items()}
    name = workflow["metadata"]["name"]
    pods = [
        one
        for pod in list(cluster.kubelet.pods)
        if pod.found["metadata"]["labels"].get("workflows.argoproj.io/workflow") == name
        for one in _main_containers(pod, nodes)
    ]
    uid = workflow["metadata"]["uid"]
    children = cluster.store.list(WORKFLOWS, selector("", f"{PARENT_LABEL}={uid}", ""))[1]
    return OracleRun(
        name=name,
        phase=status.get("phase", ""),
        message=status.get("message", ""),
        nodes=tuple(nodes.values()),
        outputs=_parameters(status.get("outputs")),
        pods=tuple(pods),
        bucket=cluster.bucket.folder,
        workflow=workflow,
        whole=with_children(workflow, children) if children else workflow,
    )


def _node(node: Json) -> OracleNode:
    outputs = node.get("outputs") or {}
    memo = node.get("memoizationStatus")
    exit_code = outputs.get("exitCode")
    return OracleNode(
        id=node["id"],
        name=node["name"],
        display_name=node["displayName"],
        type=node["type"],
        template_name=node.get("templateName", ""),
        phase=node.get("phase", ""),
        message=node.get("message", ""),
        inputs=_parameters(node.get("inputs")),
        outputs=_parameters(outputs),
        result=outputs.get("result"),
        exit_code=None if exit_code is None else int(exit_code),
        artifacts={one["name"]: _key(one) for one in outputs.get("artifacts") or ()},
        children=tuple(node.get("children") or ()),
        boundary_id=node.get("boundaryID", ""),
        memoized=None if memo is None else memo["hit"],
    )


def _parameters(part: Json | None) -> dict[str, str]:
    found = (part or {}).get("parameters") or ()
    return {one["name"]: one["value"] for one in found if one.get("value") is not None}


def _key(artifact: Json) -> str:
    key: str = (artifact.get("s3") or {}).get("key", "")
    return key


def _main_containers(pod: Pod, nodes: Mapping[str, OracleNode]) -> list[OraclePod]:
    node_id = pod.found["metadata"]["annotations"].get("workflows.argoproj.io/node-id")
    if node_id is None:  # the agent, which is of no node
        return []
    return [
        OraclePod(
            name=pod.name,
            node_id=node_id,
            template=nodes[node_id].template_name if node_id in nodes else "",
            container=one.name,
            command=_without_emissary(one.command),
            args=tuple(one.args),
            env={name: one.env[name] for name in one.env if not name.startswith(_OWN_VARIABLES)},
            exit_code=one.exit_code,
            stdout=one.output("stdout"),
            stderr=one.output("stderr"),
        )
        for one in pod.containers
        if one.spec["image"] != EXECUTOR_IMAGE
    ]


def _without_emissary(command: list[str]) -> tuple[str, ...]:
    if command[1:2] == ["emissary"]:
        return tuple(command[command.index("--") + 1 :])
    return tuple(command)
