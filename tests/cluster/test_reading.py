"""Reading cluster.yaml: what it gives, and what is told of files that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.cluster.model import Cluster, ClusterNode, Gpus, Speed, Taint
from couler.cluster.reading import read_cluster, read_cluster_file
from couler.errors import ConfigurationError


def test_all_keys() -> None:
    cluster = read_cluster(
        """
        name: lab
        nodes:
          - name: big
            pool: gpus
            cpu: "64"
            memory: 256.5Gi
            architecture: arm64
            group: high-gpu
            gpus: {type: a100, count: 4, memory: 40Gi, resource: amd.com/gpu}
            labels: {zone: "1", example.com/disk: ssd, empty: ""}
            taints:
              - {key: gpu, value: "yes", effect: NoExecute}
              - {key: other}
            price_usd_per_h: 1e1
            cpu_flags: 0
            pods: 29
        pools:
          - {name: low, count: 2, cpu: 250m, memory: 1e3}
        """
    )
    big = ClusterNode(
        "big",
        64.0,
        int(256.5 * 2**30),
        "high-gpu",
        "gpus",
        "arm64",
        Gpus("a100", 4, 40 * 2**30, "amd.com/gpu"),
        {"zone": "1", "example.com/disk": "ssd", "empty": ""},
        (Taint("gpu", "yes", "NoExecute"), Taint("other")),
        10.0,
        0,
        29,
    )
    pool = [ClusterNode(f"low-{number}", 0.25, 1000, pool="low") for number in (1, 2)]
    assert cluster == Cluster((big, *pool), "lab")
    assert cluster.groups == ("high-gpu",)


def test_the_order_of_the_file_is_the_order_of_the_nodes() -> None:
    cluster = read_cluster(
        "pools: [{name: b, count: 2, cpu: 1, memory: 1}]\n"
        "nodes: [{name: c, cpu: 1, memory: 1}, {name: a, cpu: 1, memory: 1}]\n"
    )
    assert [node.name for node in cluster.nodes] == ["b-1", "b-2", "c", "a"]


def test_a_part_of_a_byte_is_no_memory() -> None:
    [node] = read_cluster("nodes: [{name: a, cpu: 1, memory: 1500m}]").nodes
    assert node.memory_bytes == 1


@pytest.mark.parametrize(
    ("cpu", "number"),
    [("010", 10), ("+3", 3), ("3.92", 3.92), ("5.", 5), (".5", 0.5), ("1e3", 1e3)],
)
def test_numbers_are_those_of_yaml_1_2(cpu: str, number: float) -> None:
    nodes = f"nodes:\n- {{name: a, cpu: &n {cpu}, memory: 1}}\n- {{name: b, cpu: *n, memory: 1}}"
    assert [node.cpu for node in read_cluster(nodes).nodes] == [number, number]


LAUGHS = "".join(f"a{n}: &a{n} [{', '.join(9 * [f'*a{n - 1}'])}]\n" for n in range(1, 9))
ONE = "{name: p, count: 1, cpu: 1, memory: 1}"
NODE = "nodes:\n- {{name: a, cpu: 1, memory: 1Gi, {}}}\n"


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("name: a\nnodes: [\n", 3, ["YAML"]),
        ("- a", 1, ["table"]),
        (f"a0: &a0 [x]\n{LAUGHS}nodes: *a8", 1, ["its aliases stand for too many values"]),
        ("name: lab", 1, ["no machine is described"]),
        ("nodes: []\npools: []", 1, ["no machine is described"]),
        ("nodes: {a: 1}", 1, ["nodes", "list"]),
        ("nodes:", 1, ["nodes is null", "list"]),
        ("name: a\nnodes: !!map [a]", 2, ["!!map"]),
        ("name: a\nnodes: !!seq {a: 1}", 2, ["!!seq"]),
        ("nodes: !!seq abc", 1, ["expected a sequence"]),
        ("nodes:\n- name: 2020-99-99", 2, ['"2020-99-99" is no timestamp']),
        (NODE.format("group: 2020-01-02"), 2, ["group is 2020-01-02; it must be a text"]),
        *(
            (f"nodes:\n- name: a\n  cpu: {value}\n  memory: 1", 3, [words])
            for value, words in {
                **{one: f'"{one}" is no quantity' for one in ("1:30", "0x10", "0b11", "1_0")},
                '!!int ""': '"" is no int',
                "!!int 0x10": '"0x10" is no int',
                "!!bool maybe": '"maybe" is no bool',
                "!!timestamp x": '"x" is no timestamp',
                '!!float ""': '"" is no float',
                f"!!float 1{200 * ':0'}": "is no float",
                "9" * 5000: f'"{"9" * 60}" is no int',
            }.items()
        ),
        ("nodes:\n- just", 2, ["just"]),
        ("nodes:\n- {name: a, memory: 1}", 2, ["cpu is missing"]),
        ("nodes:\n- {cpu: 1, memory: 1}", 2, ["name is missing"]),
        ("name: a\npool: []", 2, ['"pool"', 'Did you mean "pools"?']),
        ("zzz: []", 1, ['"zzz"', "There are: name, nodes, pools"]),
        ("pools:\n- {name: a, cpu: 1, memory: 1}", 2, ["count is missing"]),
        (NODE.format("gpu: 1"), 2, ['Did you mean "gpus"?']),
        (NODE.format("gpus: 1"), 2, ["gpus", "must be a table"]),
        (NODE.format("gpus: {type: a100, count: 0}"), 2, ["gpus", "count", "1"]),
        (NODE.format("gpus: {resource: gpu}"), 2, ['"gpu" is no name of a resource']),
        (NODE.format("price_usd_per_h: -0.1"), 2, ["price_usd_per_h", "-0.1", "0"]),
        (NODE.format("price_usd_per_h: .nan"), 2, ["price_usd_per_h", "number"]),
        (NODE.format("price_usd_per_h: 1e999"), 2, ["price_usd_per_h"]),
        (NODE.format('price_usd_per_h: "3"'), 2, ["price_usd_per_h", "number"]),
        (NODE.format("price_usd_per_h: [1]"), 2, ["price_usd_per_h"]),
        (NODE.format("cpu_flags: 1.5"), 2, ["cpu_flags"]),
        (NODE.format("labels: {-a: b}"), 2, ["labels", '"-a" is no key of a label']),
        (NODE.format("labels: {a: -b}"), 2, ["labels", '"-b" is no value of a label']),
        (NODE.format("labels: {a: yes}"), 2, ["labels", "must be a text"]),
        (NODE.format("labels: {a: 1.20}"), 2, ["labels", "must be a text"]),
        (NODE.format("labels: {a: !x b}"), 2, ["!x"]),
        (NODE.format("labels: {[a]: b}"), 2, ["a key must be a text"]),
        (NODE.format("taints: {key: a}"), 2, ["taints", "list"]),
        (NODE.format("taints: [{key: a b}]"), 2, ["taints", '"a b" is no key of a label']),
        (NODE.format("taints: [{value: a}]"), 2, ["taints", "key is missing"]),
        (NODE.format("taints: [{key: a, effect: NoExecut}]"), 2, ['Did you mean "NoExecute"?']),
        (NODE.format("group: high gpu"), 2, ["group", '"high gpu" is no value of a label']),
        (NODE.format('group: ""'), 2, ["group", "is empty"]),
        (NODE.format("architecture: aarch64"), 2, ['Did you mean "arm64"?']),
        (NODE.format("architecture: amd46"), 2, ['Did you mean "amd64"?']),
        (NODE.format("architecture: 386"), 2, ["architecture", "must be a text"]),
        (NODE.format("cpu: 2"), 2, ['the key "cpu"', "first in line 2"]),
        ("nodes: [{name: A_b, cpu: 1, memory: 1}]", 1, ['"A_b" is no name of a node']),
        ("nodes: [{name: a, cpu: 0, memory: 1}]", 1, ["cpu", "0"]),
        ("nodes: [{name: a, cpu: -1, memory: 1}]", 1, ["cpu", "-1"]),
        ("nodes: [{name: a, cpu: 1e400, memory: 1}]", 1, ["cpu"]),
        ("nodes: [{name: a, cpu: two, memory: 1}]", 1, ["cpu", '"two" is no quantity']),
        (f"nodes: [{{name: a, cpu: {'9' * 400}, memory: 1}}]", 1, [f"and not {'9' * 60}"]),
        ("nodes: [{name: a, cpu: 1, memory: 4 GB}]", 1, ["memory", 'Did you mean "4G"?']),
        ("nodes: [{name: a, cpu: 1, memory: 100m}]", 1, ["memory", "must be above 0"]),
        ("nodes: [{name: a, cpu: 1, memory: 8Ei}]", 1, ["memory", "below 8Ei"]),
        ("nodes: [{name: a, cpu: true, memory: 1}]", 1, ["cpu", '"true" is no quantity']),
        ("pools: [{name: a, count: 100001, cpu: 1, memory: 1}]", 1, ["count", "100001"]),
        (f"pools: [{{name: {'a' * 252}, count: 1, cpu: 1, memory: 1}}]", 1, ["is too long"]),
        (
            "nodes:\n- {name: a, cpu: 1, memory: 1}\n- {name: a, cpu: 1, memory: 1}\n",
            3,
            ['another node is called "a", in line 2'],
        ),
        (
            f"nodes: [{{name: p-1, cpu: 1, memory: 1}}]\npools: [{ONE}]",
            2,
            ['another node is called "p-1", in line 1'],
        ),
        (f"pools:\n- {ONE}\n- {ONE}", 3, ["another", "line 2; names are unique"]),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, line: int, told: list[str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_cluster(text)
    message = str(caught.value)
    assert message.startswith(f"cluster.yaml:{line}: ")
    assert all(words in message for words in told), message
    assert len(message) < 400
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("text", ["", "# nothing", "nodes: []\n---\nnodes: []", "\x00"])
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^cluster\.yaml"):
        read_cluster(text)


def test_all_problems_come_at_once_in_the_order_of_lines() -> None:
    text = "pools:\n- {count: 0, cpu: 1}\nnodes:\n- name: b\n  cpu: x\n  memroy: 1\n- 3\nnode: 1\n"
    with pytest.raises(ConfigurationError) as told:
        read_cluster(text, file="c.yaml")
    head, *lines = str(told.value).splitlines()
    assert head == "c.yaml: 8 problems"
    assert [line.split(":")[1] for line in lines] == ["2", "2", "2", "4", "5", "6", "7", "8"]
    assert lines[-1] == '  c.yaml:8: there is no key "node". Did you mean "nodes"?'


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        read_cluster_file(tmp_path / "none.yaml")
    path = tmp_path / "cluster.yaml"
    path.write_bytes(b"name: \xff")
    with pytest.raises(ConfigurationError, match="no text in UTF-8"):
        read_cluster_file(path)
    path.write_text("name: a")
    with pytest.raises(ConfigurationError, match=f"^{path}:1: no machine"):
        read_cluster_file(path)


def test_speeds_are_of_groups_machines_and_models() -> None:
    cluster = read_cluster(
        """
pools: [{name: p, count: 2, cpu: 1, memory: 1Gi, group: low}]
nodes: [{name: big, cpu: 1, memory: 1Gi}]
speeds:
- operations_per_s: 1e9
- {group: low, operations_per_s: 5e8}
- {group: big, model: random-forest, operations_per_s: 2000000000}
bandwidth_bytes_per_s: 1e9
pod_start_s: 2.5
"""
    )
    assert cluster.speeds == (
        Speed(1e9),
        Speed(5e8, "low"),
        Speed(2e9, "big", "random-forest"),
    )
    assert (cluster.bandwidth_bytes_per_s, cluster.pod_start_s) == (1e9, 2.5)


@pytest.mark.parametrize(
    ("speeds", "line", "told"),
    [
        ("- {group: hihg, operations_per_s: 1}", 3, 'Did you mean "high"?'),
        ("- {group: high, operations_per_s: -1}", 3, "operations_per_s"),
        ("- {model: x}", 3, "operations_per_s is missing"),
        (
            "- {group: high, operations_per_s: 1}\n- {group: high, operations_per_s: 2}",
            4,
            "this speed",
        ),
    ],
)
def test_what_is_wrong_with_speeds_is_told(speeds: str, line: int, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_cluster(
            f"nodes: [{{name: big, cpu: 1, memory: 1Gi, group: high}}]\nspeeds:\n{speeds}\n"
        )
    assert str(caught.value).startswith(f"cluster.yaml:{line}: ")
    assert told in str(caught.value)
