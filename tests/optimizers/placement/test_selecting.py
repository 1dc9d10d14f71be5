"""What tells pods where they may run, judged by the rules of Kubernetes."""

from __future__ import annotations

import random
import typing as t

from couler.cluster.model import Cluster, ClusterNode, Taint
from couler.ir.policies import Toleration
from couler.optimizers.placement.requirements import tolerates
from couler.optimizers.placement.selecting import Selection, Selectors, tolerations_for

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def node(name: str, group: str = "", pool: str = "", **labels: str) -> ClusterNode:
    named = {key.replace("_", "/"): value for key, value in labels.items()}
    return ClusterNode(name, 4, 2**34, group, pool, labels=named)


def admits(selection: Selection, name: str, labels: t.Mapping[str, str]) -> bool:
    """Return whether Kubernetes takes a node, whose labels have its name among them."""
    known = {"kubernetes.io/hostname": name, **labels}
    if any(known.get(key) != value for key, value in selection.labels.items()):
        return False
    if not selection.affinity:
        return True
    terms = selection.affinity["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    return any(
        all(known.get(one["key"]) in one["values"] for one in term["matchExpressions"])
        for term in terms
    )


def test_the_label_of_the_group_comes_first() -> None:
    nodes = [node("a", "low", x="1", **{"couler.io_group": "low"}), node("b", "high", x="2")]
    assert Selectors(Cluster(tuple(nodes))).select(["a"]) == Selection({"couler.io/group": "low"})


def test_a_label_that_others_have_as_well_is_none() -> None:
    nodes = [node("a", zone="1"), node("b", zone="1"), node("c", zone="2")]
    selectors = Selectors(Cluster(tuple(nodes)))
    assert selectors.select(["c"]) == Selection({"zone": "2"})
    found = selectors.select(["a", "c"])
    assert found is not None
    assert str(found) == "kubernetes.io/hostname in a, c"


def test_nodes_of_pools_have_no_names() -> None:
    nodes = [node("p-1", pool="p", zone="1"), node("p-2", pool="p", zone="1"), node("c")]
    selectors = Selectors(Cluster(tuple(nodes)))
    assert selectors.select(["p-1"]) is None
    assert selectors.prefer(["p-1"]) == []
    assert selectors.select(["p-1", "p-2"]) == Selection({"zone": "1"})
    assert selectors.prefer(["c"])[0]["weight"] == 100


def test_a_hostname_that_is_stated_goes_before_the_name() -> None:
    nodes = [node("a", **{"kubernetes.io_hostname": "ip-10"}), node("b")]
    found = Selectors(Cluster(tuple(nodes))).select(["a"])
    assert found == Selection({"kubernetes.io/hostname": "ip-10"})


def test_for_all_nodes_nothing_is_said() -> None:
    nodes = (node("a"), node("b"))
    assert Selectors(Cluster(nodes)).select(["b", "a"]) == Selection()


def test_what_is_selected_is_what_was_wanted() -> None:
    """Random labels, random wishes: whatever is found admits those nodes, and no others."""
    found = 0
    for seed in range(500):
        chance = random.Random(seed)
        nodes = tuple(
            node(
                f"n{number}",
                pool=chance.choice(["", "p"]),
                **{key: str(chance.randint(0, 2)) for key in "xyz" if chance.randint(0, 2)},
            )
            for number in range(chance.randint(1, 6))
        )
        selectors = Selectors(Cluster(nodes))
        wanted = chance.sample([one.name for one in nodes], chance.randint(1, len(nodes)))
        selection = selectors.select(wanted)
        if selection is None:
            assert any(one.pool for one in nodes if one.name in wanted)
            continue
        found += 1
        labels = {one.name: selectors.labels_of(one.name) for one in nodes}
        assert {name for name in labels if admits(selection, name, labels[name])} == set(wanted)
    assert found > 250


def test_only_taints_that_may_be_are_tolerated_and_only_once() -> None:
    gpu, spot, other = Taint("gpu", "yes"), Taint("spot", effect="NoExecute"), Taint("other")
    nodes = [ClusterNode(name, 1, 1, taints=(gpu, spot, other)) for name in "ab"]
    own = (Toleration(key="spot", operator="Exists"),)
    made = tolerations_for(nodes, own, {"gpu", "spot"})
    assert made == (Toleration(key="gpu", value="yes", effect="NoSchedule"),)
    assert tolerates(made, gpu)
    assert not tolerates(made, other)
    [of_spot] = tolerations_for(nodes, (), {"spot"})
    assert tolerates([of_spot], spot)
