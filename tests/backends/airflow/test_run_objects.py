"""Objects of Kubernetes that a run makes for itself."""

from __future__ import annotations

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.pods import DisruptionBudget, RunSettings
from couler.ir.storage import Mount, NewClaimVolume
from couler.ir.workflow import Workflow
from tests.backends.airflow.files import calls_of
from tests.support.sample_flows import echo, flow

BACKEND = AirflowBackend()
BUDGET = RunSettings(disruption_budget=DisruptionBudget(max_unavailable=1))


def text_of(workflow: Workflow) -> str:
    return BACKEND.compile(workflow, Target()).to_text()


def claiming(runs: RunSettings | None = None) -> Workflow:
    step = echo("a", mounts=(Mount(volume="data", path="/data"),))
    volume = NewClaimVolume(name="data", size="1Gi", storage_class="fast")
    return flow(step, volumes=(volume,), runs=runs)


def test_claims_are_made_before_the_steps_and_deleted_after_them() -> None:
    found = calls_of(text_of(claiming()))
    assert found["make-claims"]["yaml_conf"] == found["delete-claims"]["yaml_conf"]
    assert "storageClassName: fast" in found["make-claims"]["yaml_conf"]
    (volume,) = found["a"]["pod_template_dict"]["spec"]["volumes"]
    name = "{{ run_name(ti, 'data') }}"
    assert volume == {"name": "data", "persistentVolumeClaim": {"claimName": name}}
    assert f'name: "{name}"' in found["make-claims"]["yaml_conf"]
    assert "pre_execute" not in found["delete-claims"]


def test_claims_can_be_kept_after_a_failure() -> None:
    text = text_of(claiming(RunSettings(claim_cleanup="run_success")))
    assert "pre_execute=partial(skip_unless, when_run_succeeded)" in text
    assert 'return not run_failed(ti, ["a"])' in text


@pytest.mark.parametrize("name", ["make-budget", "delete-budget"])
def test_names_of_the_tasks_are_taken(name: str) -> None:
    found = BACKEND.check(flow(echo(name), runs=BUDGET), Target())
    assert [one.code for one in found] == ["CLR371"]
    assert [*BACKEND.check(flow(echo(name)), Target())] == []


def test_a_budget_is_for_the_pods_of_a_run() -> None:
    text = text_of(flow(echo("a"), runs=BUDGET))
    manifest = calls_of(text)["make-budget"]["yaml_conf"]
    assert 'run_id: "{{ make_safe_label_value(ti.run_id) }}"' in manifest
    assert "maxUnavailable: 1" in manifest
    assert '"make_safe_label_value": make_safe_label_value' in text
