"""What live nodes are as a cluster, what is left out of it, and what is said of it."""

from __future__ import annotations

import json
import typing as t

import pytest
from hypothesis import given, strategies as st

from couler.cluster.earlier import INSTANCE_TYPE_LABEL, keep_earlier
from couler.cluster.kubernetes_nodes import GROUP_LABEL, LeftOut, read_live_nodes
from couler.cluster.model import Cluster, ClusterNode, Gpus, Taint
from couler.cluster.reading import read_cluster
from couler.cluster.writing import to_yaml
from tests.support.live_nodes import A100, live_node

GIB = 2**30


def _one(**fields: t.Any) -> ClusterNode:
    [node] = read_live_nodes([live_node("n", **fields)]).cluster.nodes
    return node


def test_a_node_with_gpus() -> None:
    labels = {**A100, GROUP_LABEL: "high-gpu"}
    taints = [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
        {"key": "spot", "effect": "NoExecute", "timeAdded": "2024-01-01T00:00:00Z"},
    ]
    item = live_node(
        "gpu-1", cpu="95690m", memory="1167907Mi", labels=labels, taints=taints, nvidia_com__gpu="8"
    )
    found = read_live_nodes([item], name="prod")
    assert found.cluster == Cluster(
        (
            ClusterNode(
                "gpu-1",
                95.69,
                1167907 * 2**20,
                "high-gpu",
                gpus=Gpus("NVIDIA-A100-SXM4-40GB", 8, 40 * GIB),
                labels={"kubernetes.io/os": "linux", **labels},
                taints=(Taint("nvidia.com/gpu", "present"), Taint("spot", "", "NoExecute")),
            ),
        ),
        "prod",
    )
    assert found.left_out == ()
    [remark] = found.remarks
    assert remark.startswith("no prices, which a cluster does not know: state price_usd_per_h, ")
    assert remark.endswith("for p4d.24xlarge (1 node)")


def test_nodes_are_in_the_order_of_their_names() -> None:
    found = read_live_nodes([live_node(name) for name in ("c", "a", "b")])
    assert [node.name for node in found.cluster.nodes] == ["a", "b", "c"]


def _changed(part: str, **fields: t.Any) -> dict[str, t.Any]:
    item = live_node("n")
    item[part] = {**item[part], **fields}
    return item


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (_changed("spec", unschedulable=True), "it is cordoned (unschedulable)"),
        (live_node("n", ready="False"), "it is not ready"),
        (live_node("n", ready="Unknown"), "it is not ready"),
        (_changed("status", conditions=None), "it is not ready"),
        (_changed("metadata", deletionTimestamp="2024-01-01T00:00:00Z"), "it is being deleted"),
        (live_node("n", labels={"kubernetes.io/os": "windows"}), "its system is windows"),
        (
            live_node("n", labels={"kubernetes.io/arch": "wasm"}),
            "its architecture wasm is not known",
        ),
        (live_node("n", cpu="0"), "its allocatable cpu"),
        (live_node("n", memory="much"), "its allocatable memory"),
        (_changed("status", allocatable=None), "its allocatable cpu"),
        (live_node("n", nvidia_com__gpu="many"), '"many" is no quantity'),
    ],
)
def test_what_takes_no_pods_is_left_out(item: dict[str, t.Any], reason: str) -> None:
    found = read_live_nodes([item, live_node("other")])
    assert [node.name for node in found.cluster.nodes] == ["other"]
    [left_out] = found.left_out
    assert left_out.name == "n"
    assert left_out.reason.startswith(reason)


def test_amounts_in_thousandths_of_bytes() -> None:
    assert _one(memory="128974848000m").memory_bytes == 128974848


@pytest.mark.parametrize(
    ("labels", "architecture"),
    [
        ({"kubernetes.io/arch": "arm64"}, "arm64"),
        ({"beta.kubernetes.io/arch": "arm64"}, "arm64"),
        ({}, "amd64"),
    ],
)
def test_architecture(labels: dict[str, str], architecture: str) -> None:
    assert _one(labels=labels).architecture == architecture


@pytest.mark.parametrize(
    ("resources", "labels", "gpus"),
    [
        ({}, A100, None),
        ({"nvidia_com__gpu": "0"}, A100, None),
        ({"google_com__tpu": "4"}, {}, None),
        ({"nvidia_com__gpu": "2"}, {}, Gpus("", 2)),
        (
            {"amd_com__gpu": "8"},
            {"amd.com/gpu.product-name": "AMD_Instinct_MI300X", "amd.com/gpu.vram": "192G"},
            Gpus("AMD_Instinct_MI300X", 8, 192 * 10**9, "amd.com/gpu"),
        ),
        (
            {"nvidia_com__gpu": "1"},
            {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"},
            Gpus("nvidia-tesla-t4", 1),
        ),
        (
            {"nvidia_com__gpu": "4"},
            {
                "karpenter.k8s.aws/instance-gpu-name": "t4",
                "karpenter.k8s.aws/instance-gpu-memory": "16384",
            },
            Gpus("t4", 4, 16 * GIB),
        ),
        (
            {"nvidia_com__gpu": "0", "nvidia_com__mig-1g_5gb": "7"},
            {
                **A100,
                "nvidia.com/mig-1g.5gb.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
                "nvidia.com/mig-1g.5gb.memory": "4864",
            },
            Gpus("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", 7, 4864 * 2**20, "nvidia.com/mig-1g.5gb"),
        ),
        ({"nvidia_com__gpu": "1"}, {"nvidia.com/gpu.memory": "lots"}, Gpus("", 1)),
        ({"amd_com__gpu": "1"}, {"amd.com/gpu.vram": "lots"}, Gpus("", 1, None, "amd.com/gpu")),
    ],
)
def test_gpus(resources: dict[str, str], labels: dict[str, str], gpus: Gpus | None) -> None:
    assert _one(labels=labels, **resources).gpus == gpus


def test_what_is_said_of_gpus() -> None:
    shared = {**A100, "nvidia.com/gpu.replicas": "4"}
    items = [
        live_node("mixed", nvidia_com__gpu="1", amd_com__gpu="2"),
        live_node("shared", labels=shared, nvidia_com__gpu_shared="32"),
    ]
    found = read_live_nodes(items)
    mixed, renamed = (node.gpus for node in found.cluster.nodes)
    assert mixed == Gpus("", 2, None, "amd.com/gpu")
    assert renamed == Gpus("NVIDIA-A100-SXM4-40GB", 32, 40 * GIB, "nvidia.com/gpu.shared")
    assert found.remarks[2:] == (
        "mixed: no label tells the type of the GPUs; state gpus.type",
        "mixed: of its GPUs only amd.com/gpu are taken, not nvidia.com/gpu",
        "shared: nvidia.com/gpu.shared are shares, 4 of each GPU: memory is that of a whole one",
    )


def test_features_of_processors_are_counted() -> None:
    labels = {
        "feature.node.kubernetes.io/cpu-cpuid.AVX2": "true",
        "feature.node.kubernetes.io/cpu-cpuid.AVX512F": "true",
        "feature.node.kubernetes.io/cpu-cpuid.MPX": "false",
        "feature.node.kubernetes.io/cpu-hardware_multithreading": "true",
    }
    assert _one(labels=labels).cpu_flags == 2
    assert _one().cpu_flags is None


def test_how_many_pods_a_node_runs() -> None:
    assert _one(pods="29").pods == 29
    item = live_node("n")
    del item["status"]["allocatable"]["pods"]
    assert read_live_nodes([item]).cluster.nodes[0].pods == 110
    found = read_live_nodes([live_node("full", pods="0")])
    [left_out] = found.left_out
    assert "must be a whole number from 1 to 100,000, not 0" in left_out.reason


def test_another_label_names_groups_and_missing_ones_are_told() -> None:
    items = [
        live_node(f"n{number}", labels={"tier": "low"} if number < 2 else {}) for number in range(8)
    ]
    found = read_live_nodes(items, group_label="tier")
    assert [node.group for node in found.cluster.nodes] == ["low", "low", *[""] * 6]
    assert found.remarks[1] == (
        "n2, n3, n4 and 3 more: no group, as no label tier names one; state group"
    )


def test_no_node_at_all() -> None:
    assert read_live_nodes([]) == read_live_nodes([], name="")
    found = read_live_nodes([live_node("n", ready="False")])
    assert (found.cluster, found.remarks) == (Cluster(()), ())
    assert found.left_out == (LeftOut("n", "it is not ready"),)


@given(st.lists(st.sampled_from(["1", "3920m", "0", "x"]), min_size=1, max_size=5), st.booleans())
def test_every_node_is_taken_or_left_out_and_the_rest_can_be_written(
    amounts: list[str], has_gpus: bool
) -> None:
    others = {"nvidia_com__gpu": "8"} if has_gpus else {}
    items = [
        live_node(f"n{number}", cpu=cpu, labels=A100, **others)
        for number, cpu in enumerate(amounts)
    ]
    before = json.dumps(items)
    found = read_live_nodes(items)
    assert json.dumps(items) == before
    assert len(found.cluster.nodes) + len(found.left_out) == len(items)
    assert read_live_nodes(items[::-1]) == found
    if found.cluster.nodes:
        assert read_cluster(to_yaml(found.cluster)) == found.cluster


def _typed(name: str, kind: str, **fields: t.Any) -> ClusterNode:
    return ClusterNode(name, 1.0, GIB, labels={INSTANCE_TYPE_LABEL: kind}, **fields)


def test_earlier_prices_go_by_name_then_by_instance_type() -> None:
    earlier = Cluster(
        (
            _typed("a", "m5", price_usd_per_h=1.0, group="low"),
            _typed("b", "m5", price_usd_per_h=2.0, group="low"),
            _typed("c", "c5", price_usd_per_h=3.0),
        ),
        "lab",
    )
    now = Cluster(
        (_typed("b", "m5"), _typed("d", "m5"), _typed("e", "c5", group="mine"), _typed("f", "x"))
    )
    kept = keep_earlier(now, earlier)
    # The m5 differ in price, so that another of them has none; they agree in their group.
    assert [node.price_usd_per_h for node in kept.nodes] == [2.0, None, 3.0, None]
    assert [node.group for node in kept.nodes] == ["low", "low", "mine", ""]
    assert kept.name == "lab"


def test_earlier_types_of_gpus_stay_where_no_label_tells_them() -> None:
    earlier = Cluster((ClusterNode("a", 1.0, 1, gpus=Gpus("a100", 4)), ClusterNode("b", 1.0, 1)))
    now = Cluster(
        (
            ClusterNode("a", 2.0, 2, gpus=Gpus("", 8)),
            ClusterNode("b", 2.0, 2, gpus=Gpus("t4", 1)),
        )
    )
    kept = keep_earlier(now, earlier)
    assert [node.gpus for node in kept.nodes] == [Gpus("a100", 8), Gpus("t4", 1)]
    assert [node.cpu for node in kept.nodes] == [2.0, 2.0]
