"""A cluster that is written reads back equal, and pools stay pools where they can."""

from __future__ import annotations

import jsonschema
import yaml
from hypothesis import given

from couler.cluster.model import Cluster, ClusterNode, Gpus, Taint
from couler.cluster.reading import read_cluster
from couler.cluster.tables import json_schema
from couler.cluster.writing import to_tree, to_yaml
from tests.support.clusters import clusters

GIB = 2**30
SCHEMA = jsonschema.Draft202012Validator(json_schema())


@given(clusters())
def test_what_is_written_reads_back_equal_and_fits_the_schema(cluster: Cluster) -> None:
    text = to_yaml(cluster)
    assert read_cluster(text) == cluster
    assert to_yaml(read_cluster(text)) == text
    SCHEMA.validate(yaml.safe_load(text))


def test_a_file_by_hand() -> None:
    pool = [
        ClusterNode(f"low-{number}", 3.92, 15 * GIB, "low", "low", price_usd_per_h=0.19)
        for number in (1, 2, 3)
    ]
    big = ClusterNode(
        "big",
        64.0,
        256 * GIB,
        "high-gpu",
        gpus=Gpus("a100", 4, 40 * GIB),
        labels={"zone": "yes"},
        taints=(Taint("nvidia.com/gpu", "present"),),
        cpu_flags=120,
        pods=58,
    )
    assert (
        to_yaml(Cluster((*pool, big), "lab"))
        == """\
name: lab
pools:
- name: low
  count: 3
  cpu: 3.92
  memory: "15Gi"
  group: low
  price_usd_per_h: 0.19
nodes:
- name: big
  cpu: 64
  memory: "256Gi"
  pods: 58
  group: high-gpu
  gpus: {type: a100, count: 4, memory: "40Gi"}
  labels: {zone: "yes"}
  taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
  cpu_flags: 120
"""
    )


def _node(name: str, pool: str = "") -> ClusterNode:
    return ClusterNode(name, 1.0, GIB, pool=pool)


def _shape(*nodes: ClusterNode) -> dict[str, int]:
    return {kind: len(rows) for kind, rows in to_tree(Cluster(nodes)).items()}


def test_pools_are_written_as_pools_only_if_they_make_the_same_nodes() -> None:
    a, b, p1, p2 = _node("a"), _node("b"), _node("p-1", "p"), _node("p-2", "p")
    assert _shape(a, p1, p2) == {"nodes": 1, "pools": 1}
    assert _shape(p1, p2, a, b) == {"pools": 1, "nodes": 2}
    assert _shape(a, p1, p2, b) == {"nodes": 4}  # neither list could come first
    assert _shape(p2, p1) == {"nodes": 2}
    assert _shape(p2) == {"nodes": 1}
    assert _shape(p1, a, p2) == {"nodes": 3}
