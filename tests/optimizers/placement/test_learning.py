"""What earlier runs tell of the speeds of machines: which of them, how fast, and when nothing."""

from __future__ import annotations

import typing as t

import pytest

from couler.cluster.model import Cluster, ClusterNode, Gpus
from couler.errors import EstimateError
from couler.ir.policies import Placement
from couler.optimizers.base import Timed
from couler.optimizers.placement.learning import learn_speeds
from couler.optimizers.placement.selecting import Selectors

GIB = 2**30


def machine(name: str, group: str = "", **fields: t.Any) -> ClusterNode:
    return ClusterNode(name, 4, 16 * GIB, group, **fields)


LAB = Cluster(
    (
        machine("l1", "low", labels={"team": "low", "zone": "a"}),
        machine("l2", "low", labels={"team": "low", "zone": "b"}),
        machine("h1", "high", labels={"team": "high", "zone": "a"}),
        machine("g1", "gpu", labels={"team": "gpu"}, gpus=Gpus("a100")),
        machine("alone", labels={"zone": "c"}),
    )
)
ANYWHERE = Placement()


def ran(
    seconds: float = 10.0,
    node: str | None = None,
    placement: Placement | None = ANYWHERE,
    *,
    model: str = "forest",
    operations: float = 1e10,
    has_gpus: bool = False,
) -> Timed:
    return Timed(model, operations, seconds, node, placement, has_gpus)


def rates(
    *timed: Timed, cluster: Cluster = LAB, group_label: str = "", **options: t.Any
) -> dict[str, tuple[float, int]]:
    """Return rate and number of measurements, by model and place."""
    known = Selectors(cluster, group_label).labelled(cluster)
    found = learn_speeds(timed, known, **options)
    return {f"{model} on {place}": tuple(rate) for (model, place), rate in found.items()}  # type: ignore[misc]  # a rate is a pair


def selects(**labels: str) -> Placement:
    return Placement(node_selector=labels)


def requires(*terms: list[dict[str, t.Any]], field: str = "matchExpressions") -> Placement:
    made = {"nodeSelectorTerms": [{field: term} for term in terms]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": made}
    return Placement.model_validate({"affinity": {"nodeAffinity": required}})


def needs(key: str, operator: str, *values: str) -> dict[str, t.Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


@pytest.mark.parametrize(
    ("placement", "group"),
    [
        (selects(team="low"), "low"),
        (selects(team="low", zone="b"), "low"),
        (selects(**{"kubernetes.io/hostname": "alone"}), "alone"),
        (selects(zone="a"), None),
        (selects(zone="nowhere"), None),
        (ANYWHERE, None),
        (requires([needs("team", "In", "low")]), "low"),
        (requires([needs("zone", "In", "a"), needs("team", "In", "low", "gpu")]), "low"),
        (requires([needs("zone", "In", "b")], [needs("team", "In", "low")]), "low"),
        (requires([needs("zone", "In", "b")], [needs("team", "In", "high")]), None),
        (requires([needs("team", "Exists"), needs("team", "In", "high")]), "high"),
        (requires([needs("team", "In", "high"), needs("team", "NotIn", "low")]), "high"),
        (requires([needs("team", "In", "low"), needs("spot", "DoesNotExist")]), None),
        (requires([needs("team", "In", "low"), needs("spot", "NotIn", "yes")]), None),
        (requires([needs("cores", "Gt", "3")]), None),
        (requires([needs("metadata.name", "In", "h1")], field="matchFields"), "high"),
        (Placement(affinity={"podAffinity": {}}), None),
    ],
    ids=str,
)
def test_else_the_machines_that_its_selectors_choose_if_they_are_of_one_group(
    placement: Placement, group: str | None
) -> None:
    expected = {} if group is None else {f"forest on {group}": (1e9, 1)}
    assert rates(ran(10, None, placement)) == expected
    assert rates(ran(10, "ip-10-0-0-7", placement)) == expected


def test_the_label_of_groups_may_be_one_that_no_machine_states() -> None:
    asks = selects(pool="high")
    assert rates(ran(10, None, asks)) == {}
    assert rates(ran(10, None, asks), group_label="pool") == {"forest on high": (1e9, 1)}


def test_a_run_here_went_where_no_selector_led() -> None:
    assert rates(ran(10, "laptop", None), ran(10, None, None)) == {}
    assert rates(ran(10, "h1", None)) == {"forest on high": (1e9, 1)}


def test_of_models_that_use_gpus_what_ran_without_tells_nothing_where_there_are_some() -> None:
    both = ran(10, "g1"), ran(1, "g1", has_gpus=True), ran(10, "l1")
    assert rates(*both) == {"forest on gpu": (5.5e9, 2), "forest on low": (1e9, 1)}
    assert rates(*both, gpu_models=["forest"]) == {
        "forest on gpu": (1e10, 1),
        "forest on low": (1e9, 1),
    }


def test_clocks_that_disagree_do_no_harm() -> None:
    assert rates(ran(-3, "l1"), ran(10, "l1")) == {"forest on low": (1e9, 1)}


def test_only_what_is_asked_for_and_measured_often_enough() -> None:
    timed = ran(10, "l1"), ran(10, "l2"), ran(10, "h1"), ran(10, "l1", model="net")
    assert rates(*timed, least=2) == {"forest on low": (1e9, 2)}
    assert rates(*timed, models=["net"]) == {"net on low": (1e9, 1)}
    with pytest.raises(EstimateError):
        rates(*timed, least=0)
