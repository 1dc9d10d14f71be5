"""Hypothesis strategies: clusters that `cluster.yaml` can describe."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from hypothesis import strategies as st

from couler.cluster.model import Cluster, ClusterNode, Effect, Gpus, Speed, Taint
from couler.cluster.values import ARCHITECTURES, EFFECTS

# Among them texts that readers of YAML take for something else.
_VALUES = st.sampled_from(["", "yes", "No", "null", "1e3", "0x1F", "1.20", "2024-01-01", "a_b.c"])
_KEYS = st.sampled_from(["zone", "y", "on", "1", "nvidia.com/gpu.product", "x.example/a-b"])
_NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,5}[a-z0-9])?(\.[a-z0-9]{1,3})?", fullmatch=True)
_BYTES = st.one_of(
    st.integers(1, 2**63 - 1),
    st.integers(1, 2000).map(lambda count: count * 2**30),
    st.integers(1, 7).map(lambda count: count * 2**60),
)
_PRICES = st.floats(0, 1e9, allow_subnormal=False)

gpus = st.builds(
    Gpus,
    st.sampled_from(["", "a100", "NVIDIA-A100-SXM4-40GB", "true", "with: colon # and more"]),
    st.integers(1, 100_000),
    st.none() | _BYTES,
    st.sampled_from(["nvidia.com/gpu", "amd.com/gpu"]),
)

taints = st.builds(
    Taint, _KEYS, _VALUES, t.cast("st.SearchStrategy[Effect]", st.sampled_from(EFFECTS))
)

_MACHINES = st.builds(
    ClusterNode,
    st.just(""),
    st.one_of(
        st.integers(1, 512).map(float),
        st.floats(1e-3, 1e6, exclude_min=True),
        st.sampled_from([3.92, 1e-05, 1e22]),
    ),
    _BYTES,
    group=st.sampled_from(["", "low", "high-gpu", "on"]),
    architecture=st.sampled_from(ARCHITECTURES),
    gpus=st.none() | gpus,
    labels=st.dictionaries(_KEYS, _VALUES, max_size=3),
    taints=st.lists(taints, max_size=2).map(tuple),
    price_usd_per_h=st.none() | _PRICES,
    cpu_flags=st.none() | st.integers(0, 100_000),
    pods=st.just(110) | st.integers(1, 100_000),
)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Nodes by themselves, whole pools, and pools of which nodes are missing, changed or moved."""
    nodes: list[ClusterNode] = []
    for name in draw(st.lists(_NAMES, min_size=1, max_size=4, unique=True)):
        machine = draw(_MACHINES)
        count = draw(st.integers(0, 3))
        if not count:
            nodes.append(replace(machine, name=name, pool=draw(st.sampled_from(["", "p"]))))
        nodes += [
            replace(machine, name=f"{name}-{number}", pool=name) for number in range(1, count + 1)
        ]
    match draw(st.sampled_from(["as they are", "moved", "changed"])):
        case "moved":
            nodes = draw(st.permutations(nodes))
        case "changed":
            nodes[0] = replace(nodes[0], cpu=7.5)
    unique = {node.name: node for node in nodes}
    places = sorted({"", *unique, *(node.group for node in nodes)})
    return Cluster(
        tuple(unique.values()),
        draw(st.sampled_from(["", "lab", "yes", "two words"])),
        tuple(draw(st.lists(speeds(places), max_size=3, unique_by=which))),
        draw(st.sampled_from([125e6, 1e9, 1.5])),
        draw(st.sampled_from([0.0, 2.5, 1e-3])),
    )


def speeds(places: list[str]) -> st.SearchStrategy[Speed]:
    """Return speeds of groups and machines that there are."""
    rates = st.floats(0, 1e15, exclude_min=True, allow_subnormal=False)
    models = st.sampled_from(["", "random-forest", "yes", "1e3"])
    return st.builds(Speed, rates, st.sampled_from(places), models)


def which(speed: Speed) -> tuple[str, str]:
    """Return what a speed is of."""
    return speed.group, speed.model
