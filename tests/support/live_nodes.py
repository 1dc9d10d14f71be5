"""Nodes as the Kubernetes API tells of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def live_node(
    name: str,
    *,
    cpu: str = "3920m",
    memory: str = "15842252Ki",
    labels: Mapping[str, str] | None = None,
    taints: list[dict[str, str]] | None = None,
    ready: str = "True",
    **others: Any,
) -> dict[str, Any]:
    """Return a node; `others` are further resources, with `__` for a slash and `_` for a dot.

    Of the fields of a real one it has those that matter, and some that do not.
    """
    resources = {key.replace("__", "/").replace("_", "."): value for key, value in others.items()}
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-of-{name}",
            "labels": {"kubernetes.io/os": "linux", **(labels or {})},
        },
        "spec": {"podCIDR": "10.0.1.0/24", **({"taints": taints} if taints else {})},
        "status": {
            "capacity": {"cpu": "4", "memory": "16393484Ki", "pods": "110"},
            "allocatable": {"cpu": cpu, "memory": memory, "pods": "110", **resources},
            "conditions": [
                {"type": "MemoryPressure", "status": "False"},
                {"type": "Ready", "status": ready},
            ],
            "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux"},
        },
    }


A100 = {
    "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB",
    "nvidia.com/gpu.memory": "40960",
    "nvidia.com/gpu.count": "8",
    "node.kubernetes.io/instance-type": "p4d.24xlarge",
    "kubernetes.io/arch": "amd64",
}
