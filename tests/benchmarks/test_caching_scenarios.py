"""The paper's scenarios have the pods and models that the paper tells."""

from __future__ import annotations

import importlib
import typing as t
from pathlib import Path

import pytest

from benchmarks.cache_simulation.artifact_graph import artifact_graph

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def scenarios(monkeypatch: pytest.MonkeyPatch) -> t.Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("workloads.scenarios")


@pytest.mark.parametrize(
    ("name", "pods", "models"),
    [
        ("multimodal training", 37, 19),
        ("image segmentation", 15, 8),
        ("language model fine-tuning", 21, 11),
    ],
)
def test_pods_and_models_are_those_of_the_paper(
    scenarios: t.Any, name: str, pods: int, models: int
) -> None:
    workflow = scenarios.SCENARIOS[name]()
    assert len(workflow.steps) == pods
    assert sum(step.name.startswith(scenarios.TRAINING) for step in workflow.steps) == models

    graph = artifact_graph(workflow)
    assert graph.jobs == tuple(step.name for step in workflow.steps)
    # All is read but what is published, and the largest cache holds part of it only.
    assert len(graph.artifacts) == pods - 1
    assert all(graph.readers)
    assert min(graph.size_bytes) > 0
    assert max(graph.size_bytes) <= 12 * scenarios.GB
    assert sum(graph.size_bytes) > max(scenarios.CACHE_GB) * scenarios.GB
    # No step uses more than there is, and as many as there are workers can be busy at once.
    cpus, gpus = scenarios.processors(workflow)
    assert sum(gpu > 0 for gpu in gpus) >= models
    assert scenarios.WORKERS * max(cpus) <= scenarios.CPUS
    assert scenarios.WORKERS * max(gpus) <= scenarios.GPUS
