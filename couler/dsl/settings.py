"""The ancestor's functions that set up the workflow of the program."""

from __future__ import annotations

import enum
import re
import typing as t
from collections.abc import Callable, Iterable, Mapping

from couler.dsl import assembly, objects
from couler.dsl._context import ProgramError, current, set_scope, set_settings
from couler.dsl.builder import Builder, current_scope
from couler.dsl.checks import attempt, several, shown
from couler.dsl.locations import FileSettings
from couler.dsl.pod_options import TOLERATION, dns_of, toleration_of
from couler.dsl.pods import Keep, PodSettings, RunSettings
from couler.dsl.secrets import Secret, secret_texts


class WFStatus(enum.Enum):
    """How a run has ended, for `set_exit_handler`."""

    Succeeded = "Succeeded"
    Failed = "Failed"
    Error = "Error"


def config_workflow(
    name: str | None = None,
    user_id: object = None,
    timeout: objects.Duration | None = None,
    time_to_clean: objects.Duration | Keep | None = None,
    cluster_config_file: str | None = None,
    cron_config: Mapping[str, t.Any] | str | objects.Schedule | None = None,
    service_account: str | None = None,
    *,
    max_parallel: int | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    pod: PodSettings | None = None,
    runs: RunSettings | None = None,
    file_settings: FileSettings | None = None,
    engine: Mapping[str, object] | None = None,
    pass_outputs: bool | None = None,
) -> None:
    """Set up the current workflow. What is left out stays as it is.

    Parameters
    ----------
    name
        Name of the workflow; by default that of the program's file. One that engines do not take
        is changed, with a warning.
    timeout
        Bound of the whole run: seconds, or text such as `"2h"`.
    time_to_clean
        How long after its end the engine keeps the run: seconds, text such as `"7d"`, or a `Keep`.
    cron_config
        When it runs by itself: a cron expression, a `Schedule`, or the ancestor's dict with
        `schedule`, `timezone`, `suspend`, `concurrency_policy`, `starting_deadline_seconds`,
        `successful_jobs_history_limit` and `failed_jobs_history_limit`.
    service_account
        Account of the cluster that the steps run as.
    max_parallel, labels, annotations, pod, runs, file_settings, engine
        As for `couler.Workflow`.
    pass_outputs
        Whether `set_dependencies` appends the outputs of steps that a list names to the arguments,
        as it does by default; False leaves all passing to arguments.
    user_id, cluster_config_file
        Kept for programs of the ancestor; they have no effect, which is reported as a warning.
    """
    builder = current_scope().builder
    if name is not None:
        salter = current().settings.name_salter
        assembly.set_name(builder, _legal(builder, name if salter is None else salter(name)))
    assembly.set_duration(builder, "timeout_s", "timeout", timeout)
    assembly.set_keep(builder, "time_to_clean", time_to_clean)
    if isinstance(cron_config, Mapping):
        config = cron_config
        cron_config = attempt(builder, "cron_config", lambda: _schedule(builder, config))
    if cron_config is not None:
        assembly.set_schedule(builder, cron_config)
    assembly.set_pods_and_runs(builder, pod, runs)
    assembly.set_pod(builder, service_account=service_account)
    assembly.set_files(builder, file_settings)
    assembly.set_fields(
        builder,
        max_parallel=max_parallel,
        labels=labels,
        annotations=annotations,
        engine=engine,
    )
    if pass_outputs is not None:
        builder.pass_outputs = pass_outputs
    for option, value in (("user_id", user_id), ("cluster_config_file", cluster_config_file)):
        if value is not None:
            builder.report("CLR106", f"{option} has no effect on any engine", severity="warning")


def _legal(builder: Builder, name: object) -> object:
    """Return a name as engines take it, such as `my-workflow` for `MyWorkflow`; warn of another."""
    if not isinstance(name, str):
        return name
    words = re.sub("(?<=[a-z0-9])(?=[A-Z])", "-", name)
    legal = re.sub("[^a-z0-9]+", "-", words.lower()).strip("-")
    if legal in ("", name):
        return name
    builder.report(
        "CLR150",
        f'engines take no name "{name}" for a workflow; it is called "{legal}"',
        severity="warning",
    )
    return legal


_CRON_KEYS = {
    "schedule": "cron",
    "timezone": "timezone",
    "suspend": "suspended",
    "concurrency_policy": "concurrency",
    "starting_deadline_seconds": "starting_deadline",
    "successful_jobs_history_limit": "keep_succeeded",
    "failed_jobs_history_limit": "keep_failed",
}


def _schedule(builder: Builder, config: Mapping[str, t.Any]) -> objects.Schedule | None:
    """Read the ancestor's dict, in which numbers and booleans can be text."""
    fields: dict[str, t.Any] = {}
    for key, value in config.items():
        field = _CRON_KEYS.get(key)
        if field is None:
            builder.report("CLR104", f'cron_config: there is no setting "{key}"')
        elif field == "suspended":
            fields[field] = value if isinstance(value, bool) else str(value).lower() == "true"
        elif field == "concurrency":
            fields[field] = str(value).lower()
        elif field in ("keep_succeeded", "keep_failed") and value is not None:
            fields[field] = int(value)
        else:
            fields[field] = value
    if "cron" not in fields:
        builder.report("CLR105", "cron_config: the schedule is missing")
        return None
    return objects.Schedule(**fields)


def config_defaults(
    name_salter: Callable[[str], str] | None = None, service_account: str | None = None
) -> None:
    """Set what holds for all workflows that this program builds from now on.

    Parameters
    ----------
    name_salter
        Makes the name of a workflow from that of `config_workflow`; names are kept by default.
    service_account
        Account of the cluster that the steps run as.
    """
    set_settings(
        current().settings._replace(name_salter=name_salter, service_account=service_account)
    )
    scope = current().scope
    if scope is not None and service_account is not None:
        scope.builder.pod.setdefault("service_account", service_account)


def set_exit_handler(
    status: WFStatus | t.Literal["success", "failure", "any"] | None,
    exit_handler: Callable[[], object],
) -> None:
    """Run steps when the run has ended in a certain way.

    Parameters
    ----------
    status
        `WFStatus.Succeeded`, `WFStatus.Failed` or `WFStatus.Error`; `success`, `failure` or `any`.
        None for any end.
    exit_handler
        Makes the steps.

    Raises
    ------
    DefinitionError
        There is no such status.
    """
    builder = current_scope().builder
    if isinstance(status, WFStatus):
        on: assembly.Status = "success" if status is WFStatus.Succeeded else "failure"
    elif status is None:
        on = "any"
    elif status in ("success", "failure", "any"):
        on = status
    else:
        raise ProgramError(
            "CLR138",
            f"set_exit_handler: {shown(status)} is no status; write couler.WFStatus.Failed, "
            'or "success", "failure" or "any"',
        )
    name = getattr(exit_handler, "__name__", "<lambda>")
    base = f"on-{on}" if name.startswith("<") else str(name)
    assembly.add_handler(builder, base, on, exit_handler)


def add_toleration(toleration: objects.Toleration) -> None:
    """Let the pods of all steps run on nodes with a taint."""
    builder = current_scope().builder
    found = attempt(
        builder,
        "add_toleration",
        lambda: tuple(map(toleration_of, several(toleration, objects.Toleration, TOLERATION))),
    )
    builder.pod["tolerations"] = (*builder.pod.get("tolerations", ()), *(found or ()))


def add_image_pull_secret(image_pull_secret: objects.ImagePullSecret | str) -> None:
    """Let the pods of all steps fetch images with a secret."""
    builder = current_scope().builder
    name = getattr(image_pull_secret, "name", image_pull_secret)
    found = attempt(
        builder, "add_image_pull_secret", lambda: several(name, str, "name of a secret")
    )
    builder.pod["image_pull_secrets"] = (
        *builder.pod.get("image_pull_secrets", ()),
        *(found or ()),
    )


def set_dns(policy: str | None = None, config: objects.DnsConfig | None = None) -> None:
    """Set the name resolution of the pods of all steps.

    Parameters
    ----------
    policy
        Kubernetes' `dnsPolicy`.
    config
        Name servers, search domains and options.
    """
    builder = current_scope().builder
    dns = attempt(builder, "set_dns", lambda: dns_of(policy, config or objects.DnsConfig()))
    assembly.set_pod(builder, dns=dns)


def create_secret(
    secret_data: Mapping[str, str],
    namespace: str | None = None,
    name: str | None = None,
    dry_run: bool = False,
    use_existing: bool = False,
    artifact_secret: bool = False,
) -> str:
    """Name a secret whose values this program knows; return the name, for `secret=`.

    The values stay in this process: workflows hold the name and the keys.

    Parameters
    ----------
    secret_data
        Values by key; every key becomes an environment variable of the steps that name it.
    namespace
        Where the secret lives; by default where the workflow runs.
    name
        Its name; by default one made of its keys.
    dry_run
        Never make the secret.
    use_existing
        It exists already, with these keys.
    artifact_secret
        Kept for programs of the ancestor.
    """
    builder = current_scope().builder
    secret_data = attempt(builder, "create_secret", lambda: secret_texts(secret_data)) or {}
    secret = Secret(
        name or _secret_name(secret_data),
        None if use_existing else secret_data,
        keys=tuple(secret_data),
        namespace=namespace,
        dry_run=dry_run,
    )
    builder.secrets[secret.name] = secret
    return secret.name


def obtain_secret(
    secret_keys: t.Iterable[str],
    namespace: str | None = None,
    name: str | None = None,
    dry_run: bool = False,
) -> str:
    """Name a secret that exists; return its name, for `secret=`.

    Parameters
    ----------
    secret_keys
        The keys to read, or the only one; each becomes an environment variable of the steps that
        name it.
    namespace
        Where the secret lives; by default where the workflow runs.
    name
        Its name; by default one made of its keys.
    dry_run
        Kept for programs of the ancestor.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("export") as wf:
    ...     login = couler.obtain_secret(["USER", "TOKEN"], name="registry")
    ...     push = couler.run_container("busybox", ["sh", "-c", "login $USER $TOKEN"], secret=login)
    """
    builder = current_scope().builder
    given: object = secret_keys
    if isinstance(given, Iterable) and not isinstance(given, str):
        given = [*given]
    keys = tuple(attempt(builder, "obtain_secret", lambda: several(given, str, "key")) or ())
    secret = Secret(name or _secret_name(keys), keys=keys, namespace=namespace, dry_run=dry_run)
    builder.secrets[secret.name] = secret
    return secret.name


def get_secret(name: str) -> Secret | None:
    """Return a secret of the current workflow by its name."""
    scope = current().scope
    return None if scope is None else scope.builder.secrets.get(name)


def _secret_name(keys: t.Iterable[str]) -> str:
    """Return a name that tells the keys and nothing of the values."""
    text = re.sub("[^a-z0-9]+", "-", "-".join(keys).lower()).strip("-")
    return f"couler-{text or 'secret'}"[:63].rstrip("-")


def get_step_output(step_name: str) -> list[t.Any]:
    """Return the outputs of a step of the current workflow; empty if there is no such step."""
    from couler.dsl.handles import ProcessHandle

    scope = current().scope
    draft = None if scope is None else scope.find(step_name)
    return [] if draft is None else list(ProcessHandle(draft))


def _cleanup() -> None:
    """Forget the workflow that the program has built outside of any `with Workflow`."""
    scope = current().scope
    if scope is not None and scope.builder.implicit:
        set_scope(None)
