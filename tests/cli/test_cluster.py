"""`couler cluster`: files that are shown, and nodes of an emulated cluster that are imported."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import pytest
import yaml

from couler.cli._options import find_cluster, find_cluster_file
from couler.cli.load import Source
from couler.cli.session import Session
from couler.cluster.reading import read_cluster, read_cluster_file
from couler.errors import ConfigurationError
from tests.fakes.kubernetes.faults import RequestFault
from tests.fakes.kubernetes.store import Resource
from tests.support.argo_cluster import EmulatedCluster, emulated_cluster
from tests.support.live_nodes import A100, live_node

NODES = Resource("", "v1", "nodes")

LAB = """
name: lab
pools:
  - {name: low, count: 3, cpu: 3920m, memory: 15Gi, group: low, price_usd_per_h: 0.19}
nodes:
  - name: big
    cpu: 64
    memory: 256Gi
    group: high-gpu
    gpus: {type: a100, count: 4, memory: 40Gi}
    labels: {zone: eu-1}
    taints: [{key: nvidia.com/gpu, value: present}]
"""

SMALL = "nodes: [{name: a, cpu: 1, memory: 1Gi}]\n"


# show --------------------------------------------------------------------------------------------


def test_show_as_text(couler: Callable, write: Callable) -> None:
    told = couler("cluster", "show", write("lab.yaml", LAB))
    assert told.code == 0
    header, pool, big = told.out.splitlines()
    assert header.split() == [
        *("machine", "count", "group", "cpu", "memory", "arch", "GPUs", "USD/h", "taints")
    ]
    assert pool.split() == [
        *("low-1", "to", "low-3", "3", "low"),
        "3.92",
        "15.0",
        "GiB",
        "amd64",
        "0.19",
    ]
    assert pool.endswith("0.19")
    assert big.startswith(
        "big                 1  high-gpu    64  256.0 GiB  amd64  4 x a100 of 40.0 GiB "
    )
    assert big.endswith(" nvidia.com/gpu=present:NoSchedule")
    assert header.index("USD/h") == pool.index("0.19") - 1
    assert told.err == (
        "lab: 4 machines: 75.76 cpu, 301.0 GiB, 4 GPUs, 0.57 USD/h (and 1 whose price is not "
        "known)\n"
    )
    assert "zone=eu-1" in couler("cluster", "show", "lab.yaml", "-v").out


def test_show_on_a_terminal(
    couler: Callable, write: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Session, "width_of_terminal", lambda _: 70)
    told = couler("cluster", "show", write("lab.yaml", LAB))
    lines = told.out.splitlines()
    assert all(len(line) <= 70 for line in lines)
    assert "3.92   15.0 GiB  amd64" in told.out


def test_show_as_json(couler: Callable, write: Callable) -> None:
    shown = couler("cluster", "show", write("lab.yaml", LAB), "--format", "json").json
    assert (shown["schema_version"], shown["file"], shown["name"]) == (1, "lab.yaml", "lab")
    assert shown["groups"] == ["low", "high-gpu"]
    assert [node["name"] for node in shown["nodes"]] == ["low-1", "low-2", "low-3", "big"]
    assert shown["nodes"][0] == {
        "name": "low-1",
        "pool": "low",
        "group": "low",
        "cpu": 3.92,
        "memory_bytes": 15 * 2**30,
        "architecture": "amd64",
        "gpus": None,
        "labels": {},
        "taints": [],
        "price_usd_per_h": 0.19,
        "cpu_flags": None,
        "pods": 110,
    }
    assert shown["nodes"][3]["gpus"] == {
        "type": "a100",
        "count": 4,
        "memory_bytes": 40 * 2**30,
        "resource": "nvidia.com/gpu",
    }
    assert shown["nodes"][3]["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    ]


def test_a_wrong_file_ends_with_all_its_problems(couler: Callable, write: Callable) -> None:
    write("cluster.yaml", "nodes:\n- {name: a, cpu: 1}\n- {name: b, cpu: 0, memory: 1Gi}\n")
    told = couler("cluster", "show")
    assert (told.code, told.out) == (3, "")
    head, memory, cpu = told.err.splitlines()
    assert head == "error: cluster.yaml: 2 problems"
    assert memory.startswith("  cluster.yaml:2: ")
    assert memory.endswith("memory is missing")
    assert cpu.startswith("  cluster.yaml:3: ")
    assert "cpu" in cpu


def test_no_file_is_wrong_usage_and_a_missing_one_wrong_configuration(couler: Callable) -> None:
    told = couler("cluster", "show")
    assert told.code == 2
    assert "no cluster is described. Give FILE" in told.err
    told = couler("cluster", "show", "none.yaml")
    assert told.code == 3
    assert "the cluster file none.yaml cannot be read" in told.err


def test_schema(couler: Callable) -> None:
    schema = couler("cluster", "schema").json
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load(LAB), schema)
    for wrong in ({}, {"nodes": [{"name": "a"}]}, {**yaml.safe_load(LAB), "node": []}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


# which file --------------------------------------------------------------------------------------


def _found(flag: Path | None = None, program: str | None = None) -> Path | None:
    return find_cluster_file(Session(), flag, None if program is None else Source(program))


def test_the_file_of_a_flag_then_the_setting_then_beside_the_program(
    folder: Path, write: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _found() is None
    assert find_cluster(Session(), None) is None
    write("cluster.yaml", SMALL)
    assert _found() == Path("cluster.yaml")
    assert _found(program="flows/flow.py") == Path("cluster.yaml")
    write("flows/cluster.yaml", SMALL)
    assert _found(program="flows/flow.py") == Path("flows/cluster.yaml")
    assert _found(program="-") == Path("cluster.yaml")
    write("set/c.yaml", SMALL)
    write("pyproject.toml", '[tool.couler]\ncluster = "set/c.yaml"\n')
    assert _found(program="flows/flow.py") == folder / "set/c.yaml"
    write("variable.yaml", SMALL)
    monkeypatch.setenv("COULER_CLUSTER", "variable.yaml")
    assert _found() == Path("variable.yaml")
    assert _found(Path("flag.yaml")) == Path("flag.yaml")
    found = find_cluster(Session(), None)
    assert found is not None
    assert [node.name for node in found.nodes] == ["a"]


def test_a_setting_that_names_no_file(couler: Callable, folder: Path, write: Callable) -> None:
    write("pyproject.toml", '[tool.couler]\ncluster = "none.yaml"\n')
    with pytest.raises(ConfigurationError, match="there is no cluster file"):
        _found()
    told = couler("cluster", "show")
    assert told.code == 3
    assert f"there is no cluster file {folder / 'none.yaml'}" in told.err
    assert "[tool.couler] of" in told.err


# import ------------------------------------------------------------------------------------------


@pytest.fixture
def cluster(folder: Path) -> Iterator[EmulatedCluster]:
    """A cluster of four nodes; the settings have it as the target `prod`."""
    with emulated_cluster(folder) as cluster:
        small = {
            "node.kubernetes.io/instance-type": "m5.xlarge",
            "kubernetes.io/arch": "amd64",
            "couler.io/group": "low",
        }
        taints = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
        for item in (
            live_node("small-a", labels=small),
            live_node("small-b", labels=small),
            live_node("small-c", labels=small, ready="Unknown"),
            live_node("gpu-a", cpu="95690m", labels=A100, taints=taints, nvidia_com__gpu="8"),
        ):
            cluster.store.create(NODES, "", item)
        (folder / "pyproject.toml").write_text(
            f'[tool.couler.targets.prod]\nengine = "argo"\nkubeconfig = "{cluster.kubeconfig}"\n'
            "patience_s = 1\n"
            '[tool.couler.targets.flow]\nengine = "airflow"\naddress = "http://localhost:1"\n'
            '[tool.couler.targets.server]\nengine = "argo"\nserver = "http://localhost:1"\n'
        )
        yield cluster


IMPORT = ("cluster", "import", "--target", "prod")


def test_import_writes_what_takes_pods_and_says_the_rest(
    couler: Callable, folder: Path, cluster: EmulatedCluster
) -> None:
    told = couler(*IMPORT, "-o", "cluster.yaml", "--name", "prod")
    assert (told.code, told.out) == (0, ""), told.err
    left_out, wrote, prices, group = told.err.splitlines()
    assert left_out == "left out small-c: it is not ready"
    assert wrote == "wrote cluster.yaml"
    assert prices.startswith(
        "note: no prices, which a cluster does not know: state price_usd_per_h"
    )
    assert prices.endswith("for m5.xlarge (2 nodes), p4d.24xlarge (1 node)")
    assert group == "note: gpu-a: no group, as no label couler.io/group names one; state group"
    written = read_cluster_file(folder / "cluster.yaml")
    assert written.name == "prod"
    assert [(node.name, node.cpu, node.group) for node in written.nodes] == [
        ("gpu-a", 95.69, ""),
        ("small-a", 3.92, "low"),
        ("small-b", 3.92, "low"),
    ]
    assert written.nodes[0].gpus is not None
    assert written.nodes[0].gpus.count == 8
    shown = couler("cluster", "show")
    assert shown.code == 0
    assert "8 x NVIDIA-A100-SXM4-40GB of 40.0 GiB" in shown.out


def test_import_to_standard_output(couler: Callable, cluster: EmulatedCluster) -> None:
    told = couler(*IMPORT, "-q", "--group-label", "node.kubernetes.io/instance-type")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("# The nodes of the target prod that took pods, without 1 that ")
    assert read_cluster(told.out).groups == ("p4d.24xlarge", "m5.xlarge")


def test_import_again_keeps_prices_and_groups(
    couler: Callable, folder: Path, cluster: EmulatedCluster
) -> None:
    assert couler(*IMPORT, "-o", "cluster.yaml").code == 0
    file = folder / "cluster.yaml"
    tree = yaml.safe_load(file.read_text())
    tree["name"] = "ours"
    tree["nodes"][0] |= {"group": "high-gpu", "price_usd_per_h": 32.77}
    tree["nodes"][1] |= {"price_usd_per_h": 0.192}
    file.write_text(yaml.safe_dump(tree))

    told = couler(*IMPORT, "-o", "cluster.yaml")
    assert told.code == 2
    assert "cluster.yaml is there. Give --update" in told.err

    cluster.store.change(NODES, "", "small-c", _make_ready)
    told = couler(*IMPORT, "-o", "cluster.yaml", "--update")
    assert told.code == 0, told.err
    assert told.err == "wrote cluster.yaml\n"
    written = read_cluster_file(file)
    assert written.name == "ours"
    assert [(node.name, node.group, node.price_usd_per_h) for node in written.nodes] == [
        ("gpu-a", "high-gpu", 32.77),
        ("small-a", "low", 0.192),
        ("small-b", "low", 0.192),
        ("small-c", "low", 0.192),
    ]

    file.write_text("nodes: 3")
    told = couler(*IMPORT, "-o", "cluster.yaml", "--update")
    assert told.code == 3
    assert file.read_text() == "nodes: 3"


def _make_ready(found: dict[str, t.Any]) -> None:
    found["status"]["conditions"][1]["status"] = "True"


def test_a_cluster_without_a_node_that_takes_pods(
    couler: Callable, cluster: EmulatedCluster, folder: Path
) -> None:
    for name in ("gpu-a", "small-a", "small-b"):
        cluster.store.remove(NODES, "", name)
    told = couler(*IMPORT, "-o", "cluster.yaml")
    assert told.code == 4
    assert "left out small-c: it is not ready" in told.err
    assert "no node that takes pods, of 1" in told.err
    assert not (folder / "cluster.yaml").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--target", "flow"), 2, "targets of airflow do not lead to the Kubernetes API"),
        (("--target", "server"), 3, "an Argo Server does not tell of nodes"),
        (("--target", "none"), 3, 'there is no target "none"'),
        (("--target", "prod", "--update"), 2, "--update wants -o OUT"),
        (("--target", "prod", "--group-label", "a b"), 2, '"a b" is no key of a label'),
        (("--target", "prod", "-o", "no/such/folder.yaml"), 3, "cannot be written: No such file"),
        ((), 2, "no engine is chosen"),
    ],
)
def test_what_is_missing_or_wrong_is_told(
    couler: Callable, cluster: EmulatedCluster, words: tuple[str, ...], code: int, message: str
) -> None:
    told = couler("cluster", "import", *words)
    assert told.code == code, told.err
    assert message in told.err
    assert told.out == ""


@pytest.mark.parametrize(
    ("status", "message"),
    [(403, "the account needs a ClusterRole that allows `list` of `nodes`"), (500, "with 500")],
)
def test_a_cluster_that_refuses(
    couler: Callable, cluster: EmulatedCluster, status: int, message: str
) -> None:
    cluster.faults.add(RequestFault("GET", "/api/v1/nodes", code=status, times=1000))
    told = couler(*IMPORT)
    assert (told.code, told.out) == (4, "")
    assert message in told.err


def test_memory_without_a_unit_is_told_of(couler: Callable, write: Callable) -> None:
    file = str(
        write(
            "c.yaml",
            "nodes: [{name: a, cpu: 4, memory: 16}, {name: b, cpu: 4, memory: 16Gi}]\n"
            "pools: [{name: c, count: 2, cpu: 4, memory: 64000}]\n",
        )
    )
    told = couler("cluster", "show", file)
    assert told.code == 0
    notes = [line for line in told.err.splitlines() if line.startswith("note: ")]
    assert notes == [
        "note: Memory is in bytes without a unit: a has 16 bytes. Did you mean 16Gi?",
        "note: Memory is in bytes without a unit: c-1, c-2 have 64,000 bytes.",
    ]
