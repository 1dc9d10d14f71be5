"""What tells pods where they may run, judged by the rules of Kubernetes."""

from __future__ import annotations

import itertools
import random
import typing as t

import pytest

from couler.cluster.model import Cluster, ClusterNode, Taint
from couler.errors import EngineOptionError
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


def terms_of(
    name: str, labels: t.Mapping[str, t.Mapping[str, str]], wanted: t.Collection[str]
) -> t.Iterator[bool]:
    """Yield for each choice of a node's labels whether only some nodes have all of these."""
    pairs = sorted(labels[name].items())
    for count in range(1, len(pairs) + 1):
        for chosen in itertools.combinations(pairs, count):
            having = {one for one, own in labels.items() if own.items() >= set(chosen)}
            yield having <= set(wanted)


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


def test_the_named_label_of_groups_goes_before_all() -> None:
    nodes = [
        node(name, group, **{"alpha.io_instance": name, "couler.io_group": "x", "able": group})
        for name, group in (("a", "p"), ("b", "q"), ("c", "q"), ("d", "r"))
    ]
    selectors = Selectors(Cluster(tuple(nodes)), "team")
    assert selectors.select(["a"]) == Selection({"team": "p"})
    assert selectors.select(["c", "b"]) == Selection({"team": "q"})
    assert str(selectors.select(["a", "c", "b"])) == "team in p, q"


def test_what_tells_single_machines_apart_comes_last() -> None:
    nodes = [
        node(name, pool="p", **{"a.io_instance": name, "a.io_what": f"of-{name}", "zone": zone})
        for name, zone in (("p-1", "1"), ("p-2", "1"), ("p-3", "2"))
    ]
    selectors = Selectors(Cluster(tuple(nodes)))
    assert selectors.select(["p-3"]) == Selection({"a.io/what": "of-p-3"})
    assert selectors.select(["p-1", "p-2"]) == Selection({"zone": "1"})
    ids = [node(name, pool="p", **{"a.io_instance-id": name[-1]}) for name in ("p-1", "p-2")]
    assert Selectors(Cluster(tuple(ids))).select(["p-1"]) == Selection({"a.io/instance-id": "1"})


def test_a_label_of_groups_that_is_no_label() -> None:
    with pytest.raises(EngineOptionError, match=r'^group_label: "my team" is no key of a label'):
        Selectors(Cluster((node("a", "p"),)), "my team")


def test_groups_with_labels_of_different_keys() -> None:
    nodes = (node("p-1", pool="p", x="1"), node("q-1", pool="q", y="1"), node("r-1", pool="r"))
    assert str(Selectors(Cluster(nodes)).select(["p-1", "q-1"])) == "x in 1 or y in 1"


def test_several_labels_that_only_they_have_all_of() -> None:
    nodes = (
        node("p-1", pool="p", x="1", y="1", z="1"),
        node("p-2", pool="p", x="1", y="1"),
        node("q-1", pool="q", x="1", y="2"),
        node("r-1", pool="r", x="2", y="1"),
    )
    selectors = Selectors(Cluster(nodes))
    assert selectors.select(["p-2", "p-1"]) == Selection({"x": "1", "y": "1"})
    assert str(selectors.select(["p-1", "p-2", "q-1"])) == "x=1"
    more = Selectors(Cluster((*nodes, node("s-1", pool="s", x="1", y="3"))))
    assert str(more.select(["p-1", "p-2", "q-1"])) == "x in 1 and y in 1, 2"


def test_a_machine_of_a_pool_that_was_written_by_itself_has_a_name() -> None:
    nodes = (
        node("ip-10-0-0-7.ec2.internal", pool="p"),
        node("p-1", pool="p"),
        node("p-2", pool="p", **{"kubernetes.io_hostname": "p-2"}),
    )
    selectors = Selectors(Cluster(nodes))
    assert str(selectors.select([nodes[0].name])) == f"kubernetes.io/hostname in {nodes[0].name}"
    assert selectors.prefer([nodes[0].name])
    assert selectors.select(["p-1"]) is None
    assert selectors.select(["p-2"]) == Selection({"kubernetes.io/hostname": "p-2"})


def test_what_is_selected_is_what_was_wanted() -> None:
    """Random labels, random wishes: whatever is found admits those nodes, and no others.

    It is refused only if of some node without a name all labels are had by a node not wanted.
    """
    found = refused = 0
    for seed in range(500):
        chance = random.Random(seed)
        nodes = tuple(
            node(
                f"p-{number}",
                pool=chance.choice(["", "p"]),
                **{key: str(chance.randint(0, 2)) for key in "xyz" if chance.randint(0, 2)},
            )
            for number in range(chance.randint(1, 6))
        )
        selectors = Selectors(Cluster(nodes))
        wanted = chance.sample([one.name for one in nodes], chance.randint(1, len(nodes)))
        selection = selectors.select(wanted)
        labels = {one.name: selectors.labels_of(one.name) for one in nodes}
        if selection is None:
            refused += 1
            lost = [one.name for one in nodes if one.pool and one.name in wanted]
            assert any(not any(terms_of(name, labels, wanted)) for name in lost)
            continue
        found += 1
        assert {name for name in labels if admits(selection, name, labels[name])} == set(wanted)
    assert found > 250
    assert refused > 30


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
