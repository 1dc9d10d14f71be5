"""A cluster on which any step has room, for tests that run all passes."""

from __future__ import annotations

from couler.cluster.model import Cluster, ClusterNode, Gpus, Speed, Taint

GIB = 2**30


def sample_cluster() -> Cluster:
    """Return machines of three groups; those with GPUs are kept for steps that ask for some."""
    large = {"cpu": 10_000.0, "memory_bytes": 2**50}
    return Cluster(
        (
            ClusterNode("small-1", 4.0, 16 * GIB, "small", labels={"couler.io/group": "small"}),
            ClusterNode("small-2", 4.0, 16 * GIB, "small", labels={"couler.io/group": "small"}),
            ClusterNode("large", group="large", labels={"couler.io/group": "large"}, **large),
            ClusterNode(
                "gpus",
                group="gpus",
                gpus=Gpus("", 10_000),
                labels={"couler.io/group": "gpus"},
                taints=(Taint("nvidia.com/gpu", "present"),),
                **large,
            ),
        ),
        "sample",
        (Speed(1e9), Speed(4e9, "large"), Speed(1e12, "gpus", "convolutional-network")),
    )
