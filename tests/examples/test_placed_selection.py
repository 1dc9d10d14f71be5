"""The example of placement: what it comes to here, and where its steps go on a cluster."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml

from couler import stages
from couler.backends.base import RunOptions, Target
from couler.cluster.model import Cluster
from couler.cluster.reading import read_cluster_file
from couler.stages.programs import load_program

pytest.importorskip("sklearn")

pytestmark = pytest.mark.checkout

OUTPUT = re.compile(r"(linear|forest|network): 9\d\.\d% of the images right")

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "examples" / "placed_selection" / "placed_selection.py"
PAGE = ROOT / "docs" / "examples" / "placed-selection.md"


@pytest.fixture
def cluster() -> Cluster:
    return read_cluster_file(PROGRAM.with_name("cluster.yaml"))


def placed(engine: str, cluster: Cluster, **options: object) -> stages.Plan:
    target = Target(options=options)
    program = load_program(str(PROGRAM))
    return stages.plan(program, engine=engine, passes=["place"], cluster=cluster, target=target)


@pytest.mark.slow
def test_a_run_picks_one_of_three(tmp_path: Path) -> None:
    result = stages.run(load_program(str(PROGRAM)), options=RunOptions(home=tmp_path))
    assert result.status == "succeeded", result.message
    assert OUTPUT.fullmatch(str(result.outputs["best"]))


def test_the_plan_is_that_of_the_page(cluster: Cluster) -> None:
    [shown] = [
        block
        for block in PAGE.read_text(encoding="utf-8").split("```text\n")[1:]
        if block.startswith("place\n")
    ]
    assert shown.split("```")[0].rstrip() in placed("argo", cluster).to_text()


def test_argo_has_the_selectors_and_the_gpu(cluster: Cluster) -> None:
    manifest = yaml.safe_load(stages.compile(placed("argo", cluster), "argo").to_text())
    templates = {one["name"]: one for one in manifest["spec"]["templates"]}
    groups = {
        name: template["nodeSelector"]["couler.io/group"]
        for name, template in templates.items()
        if "nodeSelector" in template
    }
    assert groups["network"] == "high-gpu"
    assert set(groups) == {"load", "linear", "forest", "network", "pick"}
    limits = {
        name: one["script"]["resources"]["limits"]
        for name, one in templates.items()
        if "script" in one
    }
    assert {name for name, given in limits.items() if "nvidia.com/gpu" in given} == {"network"}
    [example] = [
        block.split("```")[0] for block in PAGE.read_text(encoding="utf-8").split("```yaml\n")[1:]
    ]
    for key, value in yaml.safe_load(example).items():
        assert templates["network"][key] == value


def test_airflow_has_them_too(cluster: Cluster) -> None:
    planned = placed("airflow", cluster, files_claim="shared")
    text = stages.compile(planned, "airflow").to_text()
    [network] = [
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "network"
    ]
    assert isinstance(network, ast.Call)
    given = {one.arg: ast.unparse(one.value) for one in network.keywords}
    assert given["node_selector"] == "{'couler.io/group': 'high-gpu'}"
    assert "nvidia.com/gpu" in given["tolerations"]
    assert "'nvidia.com/gpu': '1'" in given["container_resources"]
