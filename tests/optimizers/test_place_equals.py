"""Which of equal machines the pass `place` takes, and which do for each other."""

from __future__ import annotations

import typing as t

import pytest

from couler.cluster.model import Cluster, ClusterNode, Speed
from couler.ir.policies import Profile, Resources
from couler.optimizers.passes.place import Place
from tests.support.placement import GIB, machine, placed, step


def priced(name: str, usd: float | None, cpu: float = 8, gib: int = 32) -> ClusterNode:
    return machine(name, name, cpu, gib, price_usd_per_h=usd)


@pytest.mark.parametrize(
    ("nodes", "where"),
    [
        ([("gold", 100.0), ("low", 0.1)], "low"),
        ([("a", None), ("b", 5.0)], "b"),
        ([("a", None), ("b", 9.0), ("c", 5.0)], "c"),
        ([("a", None, 64, 256), ("b", None, 4, 16)], "b"),
        ([("a", 1.0, 64, 256), ("b", 1.0, 4, 16)], "b"),
    ],
)
def test_equals_are_told_apart_by_price_and_size(
    nodes: list[tuple[t.Any, ...]], where: str
) -> None:
    cluster = Cluster(tuple(priced(*one) for one in nodes))
    profile = Profile(seconds=5)
    some = [step("a", profile=profile, resources=Resources(cpu="1")), step("b", "a")]
    steps, _ = placed(*some, cluster=cluster)
    for name in "ab":
        placement = steps[name].placement
        assert placement is not None
        assert placement.node_selector == {"couler.io/group": where}


def test_a_machine_that_is_faster_is_taken_whatever_it_costs() -> None:
    cluster = Cluster(
        (priced("slow", 0.01), priced("fast", 100.0)), speeds=(Speed(1e9), Speed(2e9, "fast"))
    )
    _, context = placed(step("a", profile=Profile(operations=1e10)), cluster=cluster)
    assert "On fast" in context.step_reasons["a"]
    # 5 s at 100 USD an hour.
    assert "All ends after 5 s by what is known of the steps, for 0.14 USD of" in context.reason


def test_the_cost_is_told_only_where_it_is_known() -> None:
    cluster = Cluster((priced("small", None, 4), priced("b", 5.0)))
    some = step("a", profile=Profile(seconds=5))
    _, context = placed(some, cluster=cluster)
    assert "for 0.0069 USD of machines" in context.reason
    _, context = placed(some, cluster=Cluster(cluster.nodes[:1]))
    assert "USD" not in context.reason


def live(name: str, cpu: float = 8, gib: int = 32, kib_less: int = 0, **more: t.Any) -> ClusterNode:
    labels = {"kubernetes.io/hostname": name, **more.pop("labels", {})}
    return ClusterNode(name, cpu, gib * GIB - kib_less * 1024, labels=labels, **more)


def hosts(affinity: t.Any) -> tuple[t.Any, t.Any]:
    """Return what of a node affinity is required, and what is preferred."""
    node = affinity.get("nodeAffinity", {})
    return (
        node.get("requiredDuringSchedulingIgnoredDuringExecution"),
        node.get("preferredDuringSchedulingIgnoredDuringExecution"),
    )


def test_alike_machines_without_a_common_label_are_told_by_their_names() -> None:
    cluster = Cluster((*(live(f"s{n}") for n in range(3)), live("big", 64, 256)))
    some = step("a", resources=Resources(cpu="1"), profile=Profile(seconds=5))
    steps, _ = placed(some, cluster=cluster)
    placement = steps["a"].placement
    assert placement is not None
    required, preferred = hosts(placement.affinity)
    [term] = required["nodeSelectorTerms"]
    assert list(term["matchExpressions"][0]["values"]) == ["s0", "s1", "s2"]
    assert preferred
    bound, _ = placed(some, cluster=cluster, pass_=Place(bind="node"))
    placement = bound["a"].placement
    assert placement is not None
    assert placement.node_selector == {"kubernetes.io/hostname": "s0"}
