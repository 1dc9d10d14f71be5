"""The corpus is sound: valid workflows, complete outcomes, every feature that a run can show."""

from __future__ import annotations

import pytest

from couler.ir.features import Feature
from couler.ir.serialize import read_json, write_json
from couler.ir.uses import features
from couler.ir.verify import verify
from tests.corpus import FOLDER, Case, cases

NEEDS_MORE_THAN_A_RUN = {
    Feature.IMAGE_ENTRYPOINT: "an image",
    Feature.JOB: "a cluster",
    Feature.JOB_LOCAL_FORM: "a cluster, on engines that have one",
    Feature.JOB_VALUES: "a cluster",
    Feature.OUTPUT_JSON_PATH: "a cluster",
    Feature.OUTPUT_JSON_PATH_LOCAL: "a cluster, on engines that have one",
    Feature.HTTP: "a server",
    Feature.SUSPEND: "a person",
    Feature.DAEMON: "a network between steps",
    Feature.VOLUME_CLAIM: "a cluster",
    Feature.VOLUME_NEW_CLAIM: "a cluster",
    Feature.VOLUME_EMPTY: "mounts",
    Feature.VOLUME_SECRET: "mounts",
    Feature.VOLUME_CONFIG: "mounts",
    Feature.VOLUME_HOST: "mounts",
}


def test_every_folder_is_a_case() -> None:
    folders = {path.name for path in FOLDER.iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders == {case.name for case in cases()}


def test_every_feature_is_shown() -> None:
    shown = frozenset[Feature]().union(*(features(case.workflow) for case in cases()))
    assert shown == set(Feature) - NEEDS_MORE_THAN_A_RUN.keys()


@pytest.mark.parametrize("case", cases(), ids=str)
def test_workflow_is_valid(case: Case) -> None:
    assert [str(problem) for problem in verify(case.workflow)] == []


@pytest.mark.parametrize("case", cases(), ids=str)
def test_workflow_survives_json(case: Case) -> None:
    assert read_json(write_json(case.workflow)) == case.workflow


@pytest.mark.parametrize("case", cases(), ids=str)
def test_name_and_outcome_fit(case: Case) -> None:
    assert case.workflow.name == case.name.replace("_", "-")
    expected = case.expected
    listed = f"{expected.succeeded} {expected.failed} {expected.skipped} {expected.omitted}".split()
    assert len(listed) == len(set(listed)), "a path has two states"
    assert set(expected.outputs) <= set(listed)
    assert bool(expected.run_outputs) <= (expected.status == "succeeded")
