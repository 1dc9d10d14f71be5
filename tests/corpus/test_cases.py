"""The corpus is sound: valid workflows, complete outcomes, every feature that a run can show."""

from __future__ import annotations

from couler.ir.features import Feature
from couler.ir.serialize import read_json, write_json
from couler.ir.uses import features
from couler.ir.verify import verify
from tests.corpus import FOLDER, cases

NEEDS_MORE_THAN_A_RUN = {
    feature: need
    for need, names in {
        "an image": "IMAGE_ENTRYPOINT",
        "a cluster": """
            JOB JOB_VALUES JOB_FLAGS JOB_MERGE_STRATEGY JOB_MANIFEST_FROM OUTPUT_JSON_PATH OUTPUT_JQ
            VOLUME_CLAIM VOLUME_NEW_CLAIM VOLUME_NFS VOLUME_CSI VOLUME_EPHEMERAL VOLUME_PROJECTED
            VOLUME_SOURCE VOLUME_DEVICES CONTAINER_SET PLUGIN TEMPLATE_CALL EXECUTOR_PLUGIN
            RESOURCE_CLAIMS POD_RESOURCES POD_SPEC_PATCH POD_TIMEOUT PENDING_TIMEOUT POD_CLEANUP
            CLAIM_CLEANUP DISRUPTION_BUDGET SCHEDULER HOST_ALIASES HOST_NETWORK RETRY_OTHER_NODE
            CONTAINER_PORTS CONTAINER_PROBES READINESS_PROBE CONTAINER_LIFECYCLE CONTAINER_RESTART
            CONTAINER_RESIZE CONTAINER_SECURITY_CONTEXT CONTAINER_STDIN TERMINATION_MESSAGE
            STORED_WORKFLOW
            """,
        "a cluster, on engines that have one": "JOB_LOCAL_FORM OUTPUT_JSON_PATH_LOCAL",
        "an engine that other runs share": """
            MUTEX_DATABASE SEMAPHORE_DATABASE LOCK_NAMESPACE RUN_PRIORITY RUN_LABELS DISPLAY_NAME
            SCHEDULE_GAP SCHEDULE_STOP HOOK WORKFLOW_HOOK METRIC METRIC_REALTIME WORKFLOW_METRIC
            """,
        "steps that wait for room": "STEP_PRIORITY",
        "a server": "HTTP HTTP_BODY_BYTES HTTP_SUCCESS_CONDITION HTTP_UNVERIFIED",
        "a person": "SUSPEND SUSPEND_OUTPUTS SUSPENDED",
        "a network between steps": "DAEMON",
        "mounts": "VOLUME_SECRET VOLUME_CONFIG VOLUME_HOST",
        "a place for files": """
            FILE_OSS FILE_GCS FILE_HDFS FILE_GIT FILE_AZURE FILE_HTTP FILE_ARTIFACTORY FILE_PLUGIN
            FILE_OSS_BUCKET FILE_HDFS_KERBEROS FILE_REMOVAL FILE_REPOSITORY KEEP_LOGS LOG_LOCATION
            """,
        "errors of a cluster": "RETRY_TRANSIENT RETRY_MAX_DURATION",
    }.items()
    for feature in (Feature[name] for name in names.split())
}


def test_every_folder_is_a_case() -> None:
    folders = {path.name for path in FOLDER.iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders == {case.name for case in cases()}


def test_every_feature_is_shown() -> None:
    shown = frozenset[Feature]().union(*(features(case.workflow) for case in cases()))
    assert shown == set(Feature) - NEEDS_MORE_THAN_A_RUN.keys()


def test_workflows_are_valid_and_survive_json() -> None:
    for case in cases():
        assert [str(problem) for problem in verify(case.workflow)] == [], case.name
        assert read_json(write_json(case.workflow)) == case.workflow


def test_names_and_outcomes_fit() -> None:
    for case in cases():
        assert case.workflow.name == case.name.replace("_", "-")
        stated = case.expected
        paths = f"{stated.succeeded} {stated.failed} {stated.skipped} {stated.omitted}".split()
        assert len(paths) == len(set(paths)), f"{case.name}: a path has two states"
        assert set(stated.outputs) <= set(paths), case.name
        assert bool(stated.run_outputs) <= (stated.status == "succeeded"), case.name
