"""What the pass `place` writes into steps, what it leaves alone, and what it refuses."""

from __future__ import annotations

from functools import partial

import pytest

from couler.cluster.model import Cluster, ClusterNode, Gpus, Speed, Taint
from couler.errors import ConfigurationError, EngineOptionError, InvalidWorkflowError
from couler.ir.diagnostics import Diagnostic
from couler.ir.pods import PodSettings
from couler.ir.policies import Gpu, Placement, Profile, Resources, Retry, Toleration
from couler.ir.values import Literal, StepRef
from couler.ir.walk import all_steps
from couler.ir.workflow import (
    Foreach,
    Group,
    Input,
    Output,
    Step,
    Suspend,
    Workflow,
)
from couler.optimizers.base import PassContext
from couler.optimizers.passes.place import Place
from couler.optimizers.pipeline import Pipeline, read_pass
from tests.support import placement
from tests.support.placement import GIB, machine, step

GPU_TAINT = Taint("nvidia.com/gpu", "present")

LAB = Cluster(
    (
        machine("c1", "cpu"),
        machine("c2", "cpu"),
        machine("m1", "memory", gib=256),
        machine("g1", "gpu", gpus=Gpus("a100", 2), taints=(GPU_TAINT,)),
    ),
    speeds=(Speed(1e9), Speed(1e12, "gpu", "dense-network")),
)
placed = partial(placement.placed, cluster=LAB)

NETWORK = Profile(operations=1e13, model="dense-network", task="training")


def placement_of(found: Step) -> Placement:
    assert found.placement is not None
    return found.placement


def test_a_network_gets_a_gpu_and_may_go_where_it_is() -> None:
    found, context = placed(step("fit", profile=NETWORK, resources=Resources(cpu="2")))
    placement = placement_of(found["fit"])
    assert placement.node_selector == {"couler.io/group": "gpu"}
    assert placement.tolerations == (
        Toleration(key="nvidia.com/gpu", value="present", effect="NoSchedule"),
    )
    assert found["fit"].resources == Resources(cpu="2", gpu=Gpu(count=1))
    assert context.step_reasons["fit"].startswith("On gpu, at best g1: takes 10 s there")
    assert "All ends after 10 s by what is known of the steps" in context.reason


def test_many_networks_wait_for_the_gpus_that_there_are() -> None:
    each = Foreach(over={"item": Literal(value=tuple(range(20)))})
    found, context = placed(step("fit", profile=NETWORK, foreach=each))
    assert found["fit"].resources == Resources(gpu=Gpu(count=1))
    assert placement_of(found["fit"]).node_selector == {"couler.io/group": "gpu"}
    assert "after 100 s by what" in context.reason  # two at a time, 10 s each


def test_of_a_group_only_some_machines_may_do() -> None:
    cluster = Cluster(
        (
            machine("g1", "ml", gib=256, gpus=Gpus("a100"), taints=(GPU_TAINT,)),
            machine("g2", "ml"),
            machine("c1", "cpu"),
        ),
        speeds=(Speed(1e9), Speed(1e12, "g1", "dense-network")),
    )
    asks = Resources(memory="128Gi")
    found, _ = placed(step("fit", profile=NETWORK, resources=asks), cluster=cluster)
    assert placement_of(found["fit"]).node_selector == {"couler.io/group": "ml"}
    assert [one.key for one in placement_of(found["fit"]).tolerations] == ["nvidia.com/gpu"]


def test_what_all_pods_have_is_not_lost() -> None:
    spot = Toleration(key="spot", operator="Exists")
    every = PodSettings(node_selector={"zone": "b"}, tolerations=(spot,))
    low = ClusterNode("low", 4, 16 * GIB, "low", labels={"couler.io/group": "low", "zone": "a"})
    high = ClusterNode("high", 4, 16 * GIB, "high", labels={"couler.io/group": "high", "zone": "b"})
    context = PassContext(cluster=lambda: Cluster((low, high)))
    [made] = Place().run(Workflow(name="w", steps=(step("a"),), pod=every), context).steps
    assert placement_of(made).node_selector == {"couler.io/group": "high", "zone": "b"}
    assert placement_of(made).tolerations == (spot,)


def test_what_the_cluster_file_cannot_tell_of_is_bound_to_nothing() -> None:
    asks = Resources(other={"rdma/hca": "1"})
    found, context = placed(step("a", resources=asks))
    assert found["a"].placement is None
    assert "rdma/hca, of which the cluster file does not tell" in context.step_reasons["a"]


def test_retries_on_other_machines_need_some() -> None:
    again = Retry(limit=2, other_node=True)
    alone = step("fit", profile=NETWORK, retry=again)
    found, context = placed(alone)
    assert found["fit"] is alone
    assert "there is no other" in context.step_reasons["fit"]
    found, _ = placed(step("load", retry=again, resources=Resources(cpu="8", memory="20Gi")))
    assert placement_of(found["load"]).node_selector["couler.io/group"] in ("cpu", "memory", "gpu")


def test_unknown_prices_are_no_bargain() -> None:
    with pytest.raises(ConfigurationError, match="prices of machines are not known: c1, c2, m1"):
        placed(step("a"), pass_=Place("upward-rank{objective=cost}"))


def test_a_selector_of_the_step_is_kept_and_narrows_the_choice() -> None:
    own = Placement(node_selector={"couler.io/group": "memory"})
    found, _ = placed(step("a", placement=own))
    assert placement_of(found["a"]).node_selector == {"couler.io/group": "memory"}
    arm = Placement(node_selector={"kubernetes.io/arch": "arm64"})
    with pytest.raises(InvalidWorkflowError, match="is amd64, not arm64"):
        placed(step("a", placement=arm))


def test_items_may_go_to_machines_of_several_groups() -> None:
    each = Foreach(over={"item": Literal(value=tuple(range(12)))})
    cluster = Cluster(
        (machine("a", "one"), machine("b", "two"), machine("c", "three", cpu=1)),
    )
    found, context = placed(
        step("fit", foreach=each, resources=Resources(cpu="4"), profile=Profile(seconds=60)),
        cluster=cluster,
    )
    affinity = placement_of(found["fit"]).affinity["nodeAffinity"]
    required = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert required[0]["matchExpressions"] == (
        {"key": "couler.io/group", "operator": "In", "values": ("one", "two")},
    )
    assert "12 tasks" in context.step_reasons["fit"]


def test_steps_in_groups_are_placed_and_pauses_are_not() -> None:
    inner = Group(steps=(step("fit", profile=NETWORK), step("wait", action=Suspend(seconds=1))))
    found, _ = placed(step("load"), step("each", "load", action=inner))
    assert placement_of(found["fit"]).node_selector == {"couler.io/group": "gpu"}
    assert (found["wait"].placement, found["each"].placement) == (None, None)


def test_it_comes_to_the_same_a_second_time() -> None:
    workflow = Workflow(name="w", steps=(step("load"), step("fit", "load", profile=NETWORK)))
    once, _ = Pipeline((Place(),)).run(workflow, cluster=lambda: LAB)
    again, _ = Pipeline((Place(),)).run(workflow, cluster=lambda: LAB)
    assert once == again


@pytest.mark.parametrize("strategy", ["kubernetes", "sjf-groups", "upward-rank"])
def test_other_strategies_choose_too(strategy: str) -> None:
    found, _ = placed(step("a"), step("b", "a"), pass_=Place(strategy=strategy))
    assert all(one.placement is not None for one in found.values())


def test_all_steps_that_nothing_can_run_are_told_with_every_reason() -> None:
    with pytest.raises(InvalidWorkflowError) as caught:
        placed(
            step("large", resources=Resources(memory="512Gi")),
            step("fine"),
            step("odd", resources=Resources(gpu=Gpu(count=1, type="h100"))),
        )
    assert [(one.code, one.step) for one in caught.value.diagnostics] == [
        ("CLR550", "large"),
        ("CLR550", "odd"),
    ]
    large, odd = (one.message for one in caught.value.diagnostics)
    assert large.startswith('no machine of the cluster can run step "large": ')
    assert "c1, c2, g1: has 32,768 MiB of memory" in large
    assert "g1: has GPUs of type a100, not h100" in odd
    assert "c1, c2, m1: has no GPU" in odd


def test_machines_that_nothing_tells_from_others_are_told_once() -> None:
    pool = [ClusterNode(f"p-{i}", 8, 32 * GIB, "cpu", "p") for i in (1, 2)]
    cluster = Cluster((*pool, ClusterNode("x", 0.5, GIB, "other")))
    steps = [step(name, resources=Resources(cpu="1")) for name in "abc"]
    with pytest.raises(InvalidWorkflowError) as caught:
        placed(*steps, cluster=cluster)
    [one] = caught.value.diagnostics
    assert (one.code, one.step) == ("CLR551", "a")
    assert one.message.startswith(
        "cpu: no label tells these machines from others, so the pods of 3"
    )
    found, _ = placed(*steps, cluster=cluster, pass_=Place(group_label="team"))
    assert placement_of(found["a"]).node_selector == {"team": "cpu"}
    with pytest.raises(InvalidWorkflowError, match="or bind steps to groups"):
        placed(*steps, cluster=cluster, pass_=Place(bind="node"))


def test_without_a_cluster_there_is_nothing_to_choose_from() -> None:
    with pytest.raises(ConfigurationError, match=r"Write cluster\.yaml"):
        Place().run(Workflow(name="w", steps=(step("a"),)), PassContext())


def test_a_workflow_without_steps_that_run_stays_as_it_is() -> None:
    workflow = Workflow(name="w", steps=(step("wait", action=Suspend(seconds=1)),))
    assert Place().run(workflow, PassContext(cluster=lambda: LAB)) is workflow


def test_options_as_texts() -> None:
    made = read_pass('place{strategy="upward-rank{objective=cost}", bind=node, tolerate=[spot]}')
    assert made == Place("upward-rank{objective=cost}", "node", tolerate=("spot",))
    with pytest.raises(EngineOptionError, match='Did you mean "upward-rank"'):
        read_pass("place{strategy=upward-rnk}")


def test_taints_are_tolerated_where_that_is_allowed() -> None:
    spot = machine("s1", "spot", taints=(Taint("spot"),))
    cluster = Cluster((spot, machine("x", "other", cpu=1)))
    asks = step("a", resources=Resources(cpu="4"))
    with pytest.raises(InvalidWorkflowError, match="has the taint spot"):
        placed(asks, cluster=cluster)
    found, _ = placed(asks, cluster=cluster, pass_=Place(tolerate=("spot",)))
    assert placement_of(found["a"]).tolerations == (
        Toleration(key="spot", operator="Exists", effect="NoSchedule"),
    )


def test_what_the_engine_refuses_is_left_out_and_told() -> None:
    def refusals(workflow: Workflow) -> list[Diagnostic]:
        return [
            Diagnostic("CLR301", "no priorities", step=one.name)
            for one in all_steps(workflow)
            if one.placement is not None and one.placement.priority is not None
        ] + [
            Diagnostic("CLR364", "no GPUs", step=one.name)
            for one in all_steps(workflow)
            if one.resources is not None and one.resources.gpu is not None
        ]

    context = PassContext(cluster=lambda: LAB, refusals=refusals)
    workflow = Workflow(name="w", steps=(step("fit", profile=NETWORK),))
    [made] = Place().run(workflow, context).steps
    assert placement_of(made).priority is None
    assert made.resources is None
    assert placement_of(made).node_selector == {"couler.io/group": "cpu"}
    assert "No step states a priority, as the engine has none." in context.reason
    assert "No step is given a GPU, as the engine would refuse it." in context.reason


def test_what_is_done_in_a_run_that_is_taken_up_needs_no_machine() -> None:
    """No machine has that much memory any more, and each has room for one of the others alone."""
    gone = step("load", resources=Resources(memory="9Ti"), profile=Profile(seconds=50))
    each = step("fit", "load", resources=Resources(cpu="8"), profile=Profile(seconds=10))
    cluster = Cluster((machine("c1", "cpu"), machine("m1", "memory")))
    with pytest.raises(InvalidWorkflowError, match="no machine can run"):
        placed(gone, each, cluster=cluster)
    asked: list[Workflow] = []

    def kept(workflow: Workflow) -> list[str]:
        asked.append(workflow)
        return ["load"]

    workflow = Workflow(name="w", steps=(gone, each))
    context = PassContext(cluster=lambda: cluster, kept=kept)
    made = Place().run(workflow, context)
    assert asked == [workflow]
    assert made.steps[0] is gone
    assert made.steps[1].placement is not None
    assert "1 step keeps its end and is not placed." in context.reason
    assert "All ends after 10 s by what is known of the steps" in context.reason
    context = PassContext(cluster=lambda: cluster, kept=lambda _: ["load", "fit"])
    assert Place().run(workflow, context) == workflow
    assert "2 steps keep their ends and are not placed." in context.reason


def test_what_is_done_has_left_its_data_as_far_from_one_machine_as_from_another() -> None:
    big = Profile(seconds=1, output_bytes=10**12)
    load = step("load", profile=big, placement=Placement(node_selector={"couler.io/group": "cpu"}))
    read = Input(name="x", value=StepRef(step="load"))
    fit = step("fit", profile=Profile(operations=1e12), inputs=(read,))
    load = load.model_copy(update={"outputs": (Output(name="result"),)})
    cluster = Cluster(
        (machine("c1", "cpu"), machine("m1", "memory")), speeds=(Speed(1e9), Speed(2e9, "memory"))
    )
    for done, group in (((), "cpu"), (("load",), "memory")):
        context = PassContext(cluster=lambda: cluster, kept=lambda _, done=done: done)
        made = Place().run(Workflow(name="w", steps=(load, fit)), context)
        assert placement_of(made.steps[1]).node_selector == {"couler.io/group": group}


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        ("upward-rank{evaluations=-1}", "evaluations is at least 0, not -1"),
        ("sjf-groups{gpu_queue_limit=-1}", "gpu_queue_limit is at least 0, not -1"),
        ("upward-rank{memory_margin=3.0}", "memory_margin does nothing here"),
        ("sjf-groups{memory_margin=3.0}", "memory_margin does nothing here"),
        ("kubernetes{memory_margin=-1.0}", "memory_margin does nothing here"),
    ],
)
def test_options_of_strategies_that_mean_nothing_are_refused(strategy: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Place(strategy=strategy)
    assert Place(strategy="upward-rank{memory_margin=1.0}")
