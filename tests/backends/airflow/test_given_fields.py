"""What a workflow states is in the DAG file, in its notes or refused; nothing is dropped silently.

Every field that a sample states is left out in turn, which must change what one is told.
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterator

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import ignored_features, ignored_notes, unsupported_uses
from couler.ir.artifacts import FileSettings, LogSettings
from couler.ir.base import FrozenDict, Node
from couler.ir.defaults import resolve_defaults
from couler.ir.pods import DisruptionBudget, PodSettings, Retention, RunSettings, StepPod
from couler.ir.policies import Backoff, Gpu, Placement, Resources, Retry, Toleration
from couler.ir.storage import (
    ClaimVolume,
    ConfigKey,
    ConfigVolume,
    EnvVar,
    EphemeralVolume,
    Mount,
    NewClaimVolume,
    SecretKey,
)
from couler.ir.verify import verify
from couler.ir.workflow import Defaults, Http, Job, Schedule, Script, Step, Suspend, Workflow
from tests.support.airflow_target import with_files
from tests.support.feature_samples import FEATURE_SAMPLES
from tests.support.file_samples import FILE_SAMPLES
from tests.support.pod_samples import POD_SAMPLES
from tests.support.sample_flows import echo, flow

BACKEND = AirflowBackend()
TARGET = with_files()

KEY = ConfigKey(config_map="settings", key="mode", optional=True)
MORE: dict[str, Workflow] = {
    "schedule": flow(
        echo("a"),
        schedule=Schedule(
            cron=("0 4 * * *",),
            timezone="Europe/Berlin",
            concurrency="forbid",
            suspended=True,
            keep_succeeded=3,
            keep_failed=1,
        ),
        keep_s=60,
        runs=RunSettings(retention=Retention(after_success_s=60, after_failure_s=90), priority=2),
    ),
    "accounts": flow(
        echo("a", pod=StepPod(executor_service_account="watcher", service_account="own")),
        pod=PodSettings(
            service_account="all",
            executor_service_account="executor",
            automount_service_account_token=False,
        ),
    ),
    "log-of-a-step": flow(echo("a", logs=LogSettings(keep=False))),
    "logs": flow(echo("a"), files=FileSettings(keep_logs=True)),
    "defaults": flow(
        echo("a"),
        defaults=Defaults(
            retry=Retry(limit=2, backoff=Backoff(seconds=2, factor=3, cap_s=20)),
            timeout_s=60,
            resources=Resources(cpu="1", gpu=Gpu(count=1, type="a100", resource="amd.com/gpu")),
            placement=Placement(
                node_selector=FrozenDict(zone="a"),
                tolerations=(Toleration(key="k", value="v", effect="NoExecute", seconds=5),),
                priority_class="high",
            ),
            pull_policy="Never",
            env=(EnvVar(name="A", value="a"),),
        ),
    ),
    "volumes": flow(
        echo(
            "a",
            mounts=(
                Mount(volume="claim", path="/a", sub_path="b", read_only=True),
                Mount(volume="config", path="/b"),
                Mount(volume="own", path="/c"),
                Mount(volume="new", path="/d"),
            ),
        ),
        volumes=(
            ClaimVolume(name="claim", claim="data", read_only=True),
            ConfigVolume(name="config", config_map="settings", items=FrozenDict(a="b")),
            EphemeralVolume(name="own", size="1Gi", access_modes=("ReadWriteMany",)),
            NewClaimVolume(
                name="new", size="1Gi", access_modes=("ReadWriteMany",), storage_class="fast"
            ),
        ),
        runs=RunSettings(disruption_budget=DisruptionBudget(max_unavailable=1)),
    ),
    "requests": flow(
        Step(
            name="a",
            action=Http(
                url="https://example.org",
                method="POST",
                headers=(EnvVar(name="A", value="b"),),
                body="text",
                success_codes=(201,),
            ),
        )
    ),
    "jobs": flow(
        Step(
            name="a",
            action=Job(
                manifest=FrozenDict(
                    apiVersion="batch/v1", kind="Job", metadata=FrozenDict(name="job")
                ),
                success_condition="status.succeeded>0",
                failure_condition="status.failed>0",
                set_owner_reference=True,
            ),
        )
    ),
    "pauses": flow(Step(name="a", action=Suspend(seconds=5, message="Let it settle."))),
    "scripts": flow(
        Step(
            name="a",
            action=Script(image="python:3.12", source="print()", command=("python", "-u")),
            env=(EnvVar(name="MODE", config=KEY),),
            resources=Resources(cpu="1", other=FrozenDict({"example.com/nic": "1"})),
        ),
        secrets=(SecretKey(secret="hub", key="token"),),
        description="What it is for.",
    ),
}
"""What the other samples do not state, or only together with what is refused."""

WORKFLOWS: dict[str, Workflow] = {
    **{f"feature: {feature.value}": sample for feature, sample in FEATURE_SAMPLES.items()},
    **{f"pods: {name}": sample for name, sample in POD_SAMPLES.items()},
    **{f"files: {name}": sample for name, sample in FILE_SAMPLES.items()},
    **{f"more: {name}": sample for name, sample in MORE.items()},
}

OWN_KEEPING = "the note says that Airflow keeps them in its own way"
LOCAL_FORM = "what runs where there is no cluster"
AT_END = "when a run has ended, which is when claims are deleted anyway"

MEANINGLESS: dict[str, tuple[str, str]] = {
    "Container.command": ("feature: output-json-path-with-local-form", LOCAL_FORM),
    "Job.local": ("feature: job-with-local-form", LOCAL_FORM),
    "LocalForm.outputs": ("feature: output-json-path-with-local-form", LOCAL_FORM),
    "LogSettings.keep": ("more: log-of-a-step", OWN_KEEPING),
    **dict.fromkeys(
        (
            "Workflow.keep_s",
            "RunSettings.retention",
            "Schedule.keep_succeeded",
            "Schedule.keep_failed",
        ),
        ("more: schedule", "the note names the feature, which the other fields state as well"),
    ),
    "Output.type": ("feature: foreach-over-output", "what a step maps over is read as a list"),
    "Retention.after_failure_s": ("more: schedule", OWN_KEEPING),
    "Retention.after_success_s": ("more: schedule", OWN_KEEPING),
    "RunSettings.claim_cleanup": ("feature: claim-cleanup", AT_END),
    "Step.engine": ("feature: engine-overrides", "those of another engine"),
    "Step.outputs": ("feature: foreach-over-output", "standard output is the result that is read"),
    "Workflow.runs": ("feature: claim-cleanup", AT_END),
}
"""Fields that change nothing in some samples: one of these, and why nobody need be told."""


def without_fields(value: t.Any) -> Iterator[tuple[str, t.Any]]:
    """Yield a value of the IR less one of the fields that it states, each with that field."""
    if isinstance(value, tuple):
        for index, one in enumerate(value):
            for name, less in without_fields(one):
                yield name, (*value[:index], less, *value[index + 1 :])
    if not isinstance(value, Node):
        return
    for name, field in type(value).model_fields.items():
        given = getattr(value, name)
        if not field.is_required() and name in value.model_fields_set:
            default = field.get_default(call_default_factory=True)
            if given != default and name != "kind":
                yield (
                    f"{type(value).__name__}.{name}",
                    value.model_copy(update={name: default}),
                )
        for inner, less in without_fields(given):
            yield inner, value.model_copy(update={name: less})


def told(workflow: Workflow) -> tuple[str, tuple[str, ...]] | None:
    """Return the DAG file and its notes; None if the workflow is refused."""
    if verify(workflow) or any(unsupported_uses(workflow, BACKEND, TARGET, {})):
        return None
    resolved = resolve_defaults(workflow)
    if any(one.severity == "error" for one in BACKEND.check(resolved, TARGET)):
        return None
    artifact = BACKEND.compile(resolved, TARGET)
    ignored = ignored_notes(BACKEND.name, ignored_features(resolved, BACKEND, TARGET))
    return artifact.to_text(), (*ignored, *artifact.notes)


def dropped(name: str) -> set[str]:
    """Return the fields without which a sample that is compiled gives the same."""
    workflow = WORKFLOWS[name]
    whole = told(workflow)
    if whole is None:
        return set()
    return {field for field, less in without_fields(workflow) if told(less) == whole}


@pytest.mark.parametrize(
    "kind", [pytest.param("feature", marks=pytest.mark.slow), "pods", "files", "more"]
)
def test_nothing_that_is_stated_is_dropped(kind: str) -> None:
    for name in WORKFLOWS:
        if name.startswith(f"{kind}: "):
            assert dropped(name) - MEANINGLESS.keys() == set(), name


def test_fields_that_mean_nothing_still_do() -> None:
    for field, (sample, _) in MEANINGLESS.items():
        assert field in dropped(sample)


def test_what_is_stated_here_is_compiled() -> None:
    for name, workflow in MORE.items():
        assert told(workflow) is not None, name
