"""The escape hatch: arguments for Airflow that stand before all others."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping

from couler.backends.airflow.python import Expression, Table, value_of
from couler.ir.diagnostics import did_you_mean
from couler.ir.values import thawed
from couler.ir.workflow import Container, Script, Step, Workflow

_TASK = (
    *("depends_on_past", "doc", "doc_json", "doc_md", "doc_rst", "doc_yaml", "email"),
    *("email_on_failure", "email_on_retry", "executor"),
    *("executor_config", "ignore_first_depends_on_past", "logger_name", "map_index_template"),
    *("max_active_tis_per_dag", "max_active_tis_per_dagrun", "max_retry_delay"),
    *("multiple_outputs", "owner", "params", "pool", "pool_slots", "priority_weight", "queue"),
    *("resources", "retries", "retry_delay", "retry_exponential_backoff", "run_as_user"),
    *("task_display_name", "trigger_rule", "wait_for_downstream"),
    *("wait_for_past_depends_before_skipping", "weight_rule"),
)
_POD = (
    *("active_deadline_seconds", "affinity", "annotations", "automount_service_account_token"),
    *("base_container_status_polling_interval", "cluster_context", "config_file", "configmaps"),
    *("container_logs", "container_name_log_prefix_enabled", "container_resources"),
    *("container_security_context", "deferrable", "dns_config", "dnspolicy", "durable"),
    *("env_vars", "get_logs", "host_aliases", "hostname", "hostnetwork", "image"),
    *("image_pull_policy", "image_pull_secrets", "in_cluster", "init_container_logs"),
    *("kubernetes_conn_id", "labels", "log_events_on_failure", "log_events_on_startup"),
    *("log_pod_spec_on_failure", "logging_interval", "name", "namespace", "node_selector"),
    *("on_finish_action", "on_kill_action", "pod_template_file", "poll_interval"),
    *("priority_class_name", "random_name_suffix", "runtime_class_name"),
    *("schedule_timeout_seconds", "schedulername", "security_context", "service_account_name"),
    *("skip_on_exit_code", "startup_check_interval_seconds", "startup_timeout_seconds"),
    *("subdomain", "termination_grace_period", "termination_message_policy", "tolerations"),
    *("trigger_kwargs", "xcom_sidecar_container_security_context"),
)
_DAG = (
    *("access_control", "allowed_run_types", "auto_register", "catchup", "dag_display_name"),
    *("default_args", "description", "disable_bundle_versioning", "doc_md"),
    *("fail_fast", "is_paused_upon_creation", "jinja_environment_kwargs"),
    *("max_active_runs", "max_active_tasks", "max_consecutive_failed_dag_runs", "owner_links"),
    *("params", "rerun_with_latest_version", "schedule", "tags"),
    "template_searchpath",
)


_TEXTS = frozenset(
    (
        *("description", "dag_display_name", "doc_md", "executor", "hostname", "image"),
        *("kubernetes_conn_id", "logger_name", "map_index_template", "name", "namespace"),
        *("on_finish_action", "owner", "pool", "priority_class_name", "queue"),
        *("run_as_user", "runtime_class_name", "schedulername", "service_account_name"),
        *("subdomain", "task_display_name", "trigger_rule", "weight_rule"),
    )
)
_WHOLE_NUMBERS = frozenset(
    (
        *("active_deadline_seconds", "logging_interval", "max_active_runs", "max_active_tasks"),
        *("max_active_tis_per_dag", "max_active_tis_per_dagrun"),
        *("max_consecutive_failed_dag_runs", "pool_slots", "priority_weight", "retries"),
        *("schedule_timeout_seconds", "startup_check_interval_seconds"),
        *("startup_timeout_seconds", "termination_grace_period"),
    )
)
_TRUTHS = frozenset(
    (
        *("automount_service_account_token", "catchup", "deferrable", "depends_on_past"),
        *("email_on_failure", "email_on_retry", "fail_fast", "get_logs", "hostnetwork"),
        *("in_cluster", "is_paused_upon_creation", "log_events_on_failure", "multiple_outputs"),
        *("random_name_suffix", "wait_for_downstream"),
    )
)
_OBJECTS = frozenset(
    ("access_control", "annotations", "default_args", "labels", "node_selector", "owner_links")
)


_INSTEAD = {
    "arguments": "Give the step args.",
    "cmds": "Give the step a command.",
    "dag_id": "It is the name of the workflow.",
    "dagrun_timeout": "Give the workflow a timeout.",
    "execution_timeout": "Give the step a timeout.",
    "task_id": "It is the name of the step.",
}
_NOT_JSON = ("end_date", "post_execute", "pre_execute", "python_callable", "start_date")


def instead(name: str, known: Iterable[str]) -> str:
    """Return what to write in place of an argument that cannot be given."""
    if name in _INSTEAD:
        return f" {_INSTEAD[name]}"
    if name.endswith(("_callback", "_policy")) or name in _NOT_JSON:
        return " Overrides have values of JSON alone: no functions, no dates."
    return did_you_mean(name, known)


def kind_asked(name: str, value: object) -> str | None:
    """Return what an argument of a simple kind takes, if a value is of another; else None."""
    if value is None:
        return None
    if name in _TEXTS:
        return None if isinstance(value, str) else "a text"
    if name in _WHOLE_NUMBERS:
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        return None if is_whole else "a whole number"
    if name in _TRUTHS:
        return None if isinstance(value, bool) else "true or false"
    return "an object" if name in _OBJECTS and not isinstance(value, Mapping) else None


def own_arguments(owner: Step | Workflow) -> Mapping[str, t.Any]:
    """Return the overrides for Airflow of a step or a workflow."""
    return t.cast("Mapping[str, t.Any]", owner.engine.get("airflow", {}))


def known_arguments(owner: Step | Workflow) -> tuple[str, ...]:
    """Return the names that the overrides of a step or a workflow can have."""
    if isinstance(owner, Workflow):
        return _DAG
    return (*_TASK, *_POD) if isinstance(owner.action, Container | Script) else _TASK


def merged(fields: Mapping[str, object], overrides: Mapping[str, t.Any]) -> dict[str, object]:
    """Return arguments with overrides merged in: objects by key, the rest replaced."""
    found = dict(fields)
    for key, value in overrides.items():
        before = found.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            found[key] = merged(before, value)
        elif isinstance(value, Mapping) and isinstance(before, Table):
            found[key] = _with_entries(before, value)
        else:
            found[key] = value_of(thawed(value))
    return found


def _with_entries(table: Table, new: Mapping[str, t.Any]) -> Expression:
    added = {value_of(key): value_of(thawed(value)) for key, value in new.items()}
    kept = tuple((key, value) for key, value in table.entries if key not in added)
    return Table((*kept, *added.items()))
