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


ONE = "{name: p, count: 1, cpu: 1, memory: 1}"
NODE = "nodes:\n- {{name: a, cpu: 1, memory: 1Gi, {}}}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cluster.yaml: it is empty"),
        ("# nothing", "it is empty"),
        ("name: a\nnodes: [", "cluster.yaml:"),
        ("nodes: [", "no YAML: "),
        ("nodes: []\n---\nnodes: []", "no YAML: "),
        ("\x00", "no YAML: "),
        ("- a", ":1: the file must be a table of keys and values, not a list"),
        ("name: lab", "no machine is described"),
        ("nodes: []\npools: []", "no machine is described"),
        ("nodes: {a: 1}", ":1: nodes: must be a list, not a table"),
        ("nodes:", ":1: nodes: must be a list, not nothing"),
        ("nodes:\n- just", ':2: node 1: must be a table of keys and values, not "just"'),
        ("nodes:\n- {name: a}", ':2: node "a": cpu is missing'),
        ("nodes:\n- {cpu: 1, memory: 1}", ":2: node 1: name is missing"),
        ("pool: []", 'there is no key "pool". Did you mean "pools"?'),
        ("zzz: []", 'there is no key "zzz". There are: name, nodes, pools'),
        ("pools:\n- {name: a, cpu: 1, memory: 1}", ':2: pool "a": count is missing'),
        (NODE.format("gpu: 1"), ':2: node "a": there is no key "gpu". Did you mean "gpus"?'),
        (NODE.format("gpus: 1"), 'node "a", gpus: must be a table of keys and values'),
        (NODE.format("gpus: {type: a100, count: 0}"), "gpus: count must be a whole number from 1"),
        (NODE.format("gpus: {resource: gpu}"), '"gpu" is no name of a resource, such as nvidia'),
        (NODE.format("price_usd_per_h: -0.1"), "price_usd_per_h must be 0 or above, not -0.1"),
        (NODE.format("price_usd_per_h: .nan"), 'a number of US dollars, such as 3.06, not ".nan"'),
        (NODE.format("price_usd_per_h: 1e999"), "price_usd_per_h must be 0 or above, not 1e999"),
        (NODE.format('price_usd_per_h: "3"'), "must be a number: write it without quotes"),
        (NODE.format("price_usd_per_h: $3"), "must be a number of US dollars"),
        (NODE.format("price_usd_per_h: "), "price_usd_per_h has no value"),
        (NODE.format("price_usd_per_h: [1]"), "must be a single value, not a list"),
        (NODE.format("cpu_flags: 1.5"), "cpu_flags must be a whole number from 0 to 100,000"),
        (NODE.format("cpu_flags: " + "9" * 5000), "cpu_flags must be a whole number"),
        (NODE.format("labels: {-a: b}"), '"-a" is no key of a label'),
        (NODE.format("labels: {a: -b}"), 'a "-b" is no value of a label'),
        (NODE.format("labels: {a: yes}"), 'YAML takes yes for true or false: write "yes"'),
        (NODE.format("labels: {a: 1.20}"), 'YAML takes 1.20 for a number: write "1.20"'),
        (NODE.format("labels: {a: !x b}"), "has the tag !x, which means nothing here"),
        (NODE.format("labels: {[a]: b}"), "a key must be a text"),
        (NODE.format("taints: {key: a}"), "taints: must be a list, not a table"),
        (NODE.format("taints: [{key: a b}]"), 'taints 1: key "a b" is no key of a label'),
        (NODE.format("taints: [{value: a}]"), "taints 1: key is missing"),
        (NODE.format("taints: [{key: a, effect: NoRun}]"), '"NoRun" is no effect of a taint'),
        (NODE.format("group: high gpu"), 'group "high gpu" is no value of a label'),
        (NODE.format('group: ""'), "group is empty"),
        (NODE.format("architecture: aarch64"), 'Did you mean "arm64"?'),
        (NODE.format("architecture: amd46"), 'Did you mean "amd64"?'),
        (NODE.format("architecture: 386"), 'write "386"'),
        (NODE.format("cpu: 2"), 'the key "cpu" stands here a second time, first in line 2'),
        ("nodes: [{name: A_b, cpu: 1, memory: 1}]", '"A_b" is no name of a node'),
        ("nodes: [{name: a, cpu: 0, memory: 1}]", "cpu must be above 0, not 0"),
        ("nodes: [{name: a, cpu: -1, memory: 1}]", "cpu must be above 0, not -1"),
        (
            "nodes: [{name: a, cpu: 1e400, memory: 1}]",
            "cpu must be a number of processors that a machine can have, not 1e400",
        ),
        ("nodes: [{name: a, cpu: two, memory: 1}]", '"two" is no quantity'),
        ("nodes: [{name: a, cpu: 1, memory: 4 GB}]", 'Did you mean "4G"?'),
        ("nodes: [{name: a, cpu: 1, memory: 100m}]", "memory must be above 0"),
        ("nodes: [{name: a, cpu: 1, memory: 8Ei}]", "memory must be above 0 and below 8Ei"),
        ("nodes: [{name: a, cpu: true, memory: 1}]", 'cpu is wrong: "true" is no quantity'),
        (
            "pools: [{name: a, count: 100001, cpu: 1, memory: 1}]",
            "count must be a whole number from 1 to 100,000, not 100001",
        ),
        (
            f"pools: [{{name: {'a' * 252}, count: 1, cpu: 1, memory: 1}}]",
            "is too long for the name of a node",
        ),
        (
            "nodes:\n- {name: a, cpu: 1, memory: 1}\n- {name: a, cpu: 1, memory: 1}\n",
            ':3: node "a": another node is called "a", in line 2; names are unique',
        ),
        (
            f"nodes: [{{name: p-1, cpu: 1, memory: 1}}]\npools: [{ONE}]",
            ':2: pool "p": another node is called "p-1", in line 1; names are unique',
        ),
        (
            f"pools:\n- {ONE}\n- {ONE}",
            ':3: pool "p": another pool is called so, in line 2; names are unique',
        ),
    ],
)
def test_what_is_wrong_is_told(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as told:
        read_cluster(text)
    assert message in str(told.value)
    assert told.value.exit_code == 3


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


def test_all_that_is_wrong_with_speeds_is_told() -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_cluster(
            """
nodes: [{name: big, cpu: 1, memory: 1Gi, group: high}]
speeds:
- {group: hihg, operations_per_s: 1}
- {group: high, operations_per_s: -1}
- {group: high, operations_per_s: 2}
- {model: x}
bandwidth_bytes_per_s: fast
"""
        )
    told = str(caught.value)
    assert 'no machine is of the group "hihg". Did you mean "high"?' in told
    assert 'speed 2: operations_per_s must be a number above 0, such as 2e9, not "-1"' in told
    assert "line 5 states this speed already" in told
    assert "speed 4: operations_per_s is missing" in told
    assert 'bandwidth_bytes_per_s must be a number above 0, such as 2e9, not "fast"' in told
