"""Tuning of hyperparameters on a cluster: an Experiment of Katib."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import replace

from couler.dsl.handles import ProcessHandle, Value
from couler.dsl.jobs import as_text
from couler.dsl.objects import Duration
from couler.ir.diagnostics import did_you_mean
from couler.ir.verify.names import check_labels
from couler.ir.workflow import Output
from couler.steps.parameters import STATIC
from couler.steps.pods import (
    JobDraft,
    Tree,
    hyperparameter_words,
    named_inputs,
    pod_template,
    present,
)
from couler.steps.registry import zoo_step
from couler.steps.training import (
    STATUS,
    ClusterJobOptions,
    Local,
    begin_job,
    condition_anywhere,
    make_job,
)
from couler.steps.tuning import (
    ALGORITHMS,
    BEST,
    EARLY_STOPPING,
    Objective,
    Tuned,
    TuningParameter,
    check_algorithm,
    check_counts,
    check_objective,
    check_tuned,
)

CONTAINER = "training-container"

_MARK = re.compile(r"\$\{trialParameters\.([^}]*)\}")

_ENDED_KINDS = ("Job", "MPIJob", "MXJob", "PyTorchJob", "TFJob", "TrainJob", "XGBoostJob")
"""Kinds of trials of which Katib knows when they have ended."""

_OF_TRIAL = (
    *("image", "command", "args", "env", "secret", "resources", "cpu", "memory", "gpu"),
    *("volume_mounts", "node_selector", "tolerations"),
)
"""What only a trial without a template has."""


@zoo_step("katib.run", extra="input_")
def run(
    raw_template: str | Mapping[str, object] | None = None,
    tuning_params: t.Annotated[Sequence[TuningParameter], STATIC] = (),
    objective: t.Annotated[Objective | None, STATIC] = None,
    success_condition: str | None = None,
    failure_condition: str | None = None,
    algorithm: str = "random",
    parallel_trial_count: int = 3,
    max_trial_count: int = 12,
    max_failed_trial_count: t.Annotated[int, STATIC] = 3,
    *,
    algorithm_settings: Mapping[str, object] | None = None,
    early_stopping: str | None = None,
    early_stopping_settings: Mapping[str, object] | None = None,
    metrics_collector: Mapping[str, object] | None = None,
    primary_container: str = CONTAINER,
    primary_pod_labels: Mapping[str, str] | None = None,
    trial_success_condition: str | None = None,
    trial_failure_condition: str | None = None,
    image: str | None = None,
    command: str | Sequence[object] | None = None,
    secret: str | Sequence[str] | None = None,
    timeout: Duration | None = None,
    local: Local = False,
    **options: t.Unpack[ClusterJobOptions],
) -> ProcessHandle:
    """Tune hyperparameters: an Experiment of Katib (kubeflow.org/v1beta1).

    Parameters
    ----------
    raw_template
        The resource that a trial creates, as a dict or YAML, with `${trialParameters.NAME}` where a
        hyperparameter goes: its name without leading dashes. Without it a trial is a Job that runs
        `command` with every hyperparameter as an argument.
    tuning_params
        The hyperparameters, such as `{"name": "--lr", "type": "double", "range": [0.01, 0.1]}`; the
        range is the least and the greatest value of a `double` or `int`, and for a grid the step,
        and all values of a `categorical` or `discrete`. Values of the workflow can stand in it.
    objective
        The metric, such as `{"type": "maximize", "metric_name": "accuracy", "goal": 0.99}`.
    success_condition, failure_condition
        When the experiment has ended; by default at its completion, and with too many failures.
    algorithm, algorithm_settings
        How hyperparameters are suggested, such as `random`, `grid` or `tpe`.
    parallel_trial_count, max_trial_count, max_failed_trial_count
        How many trials run at the same time, run at most, and may fail.
    early_stopping, early_stopping_settings
        When trials without promise are stopped, such as `medianstop`.
    metrics_collector
        Where metrics are found, as Katib's `metricsCollectorSpec`; by default what a trial prints.
    primary_container, primary_pod_labels
        The container of `raw_template` that trains, and the labels of its pods where there are
        several.
    trial_success_condition, trial_failure_condition
        When a trial of `raw_template` has ended, as paths of GJSON such as
        `status.conditions.#(type=="Complete")#|#(status=="True")#`; Katib itself knows it of a Job
        and of the jobs of Kubeflow.
    image, command, args, env, secret, resources, cpu, memory, gpu, volume_mounts, node_selector, \
    tolerations
        Of a trial without `raw_template`, as for `pytorch.train`.
    timeout
        As for `run_container`.
    local
        What runs on an engine without a cluster: a `LocalForm` or function.
    options
        The other options of `ClusterJobOptions`.
    input_*
        Further arguments of every trial: `input_epochs=3` is `--epochs=3`.

    Returns
    -------
    ProcessHandle
        The step: the best trial as `best_trial`, which is its value, `best_parameters` and
        `best_metrics` (JSON as Katib writes it), `best_value` of the metric, `best_<NAME>` of each
        hyperparameter, `trials` that succeeded; `job_name`, `job_id`, `job_obj`, `started` and
        `ended`.

    Examples
    --------
    >>> import couler
    >>> from couler.steps import katib
    >>> with couler.Workflow("tune", epochs=3) as wf:
    ...     best = katib.run(
    ...         tuning_params=[
    ...             {"name": "--lr", "type": "double", "range": [0.01, 0.03]},
    ...             {"name": "--optimizer", "type": "categorical", "range": ["sgd", "adam"]},
    ...         ],
    ...         objective={"type": "maximize", "metric_name": "accuracy", "goal": 0.99},
    ...         image="example.org/train:1",
    ...         command=["python", "/srv/train.py"],
    ...         input_epochs=wf.params.epochs,
    ...     )
    ...     final = couler.run_container(
    ...         "example.org/train:1", ["python", "/srv/train.py"],
    ...         args=[couler.text("--lr={}", best.best_lr)], name="final")
    """
    draft = begin_job("katib-run", locals())
    given, report = draft.given, draft.report
    parameters = [Tuned(one) for one in tuning_params]
    if objective is None:
        report('the argument "objective" is missing', "CLR101")
        objective = {"type": "maximize", "metric_name": "unknown"}
    if local is True:
        report("local=True: what tunes is Katib. Give a couler.LocalForm")
    right = check_tuned(parameters, algorithm, _outputs((), objective), report)
    check_objective(objective, report)
    check_algorithm("algorithm", algorithm, ALGORITHMS, report)
    check_algorithm("early_stopping", early_stopping, EARLY_STOPPING, report)
    check_labels(primary_pod_labels or {}, "primary_pod_labels", draft.add)
    check_counts(parallel_trial_count, max_trial_count, max_failed_trial_count, report)
    if early_stopping is None and early_stopping_settings:
        report("early_stopping_settings have no effect without early_stopping", "CLR106")
    if raw_template is None:
        told = named_inputs(given)
        for one in parameters:
            if one.name in told:
                report(f'"{one.name}" is tuned, so input_{one.name} has no place. Remove one')
        words = [*(given.get("args") or ()), *(one.word for one in parameters)]
        words += hyperparameter_words(draft, told)
        trial = _job(replace(draft, args=words, env=given.get("env") or {}), primary_container)
    else:
        _report_unused(draft)
        trial = _read_template(draft, raw_template, parameters)
        ends = trial_success_condition, trial_failure_condition
        if trial.get("kind", "Job") not in _ENDED_KINDS and None in ends:
            message = (
                f"Katib does not know when a {trial['kind']} has ended. Give "
                "trial_success_condition and trial_failure_condition"
            )
            report(message, "CLR101")
    template = {
        "primaryContainerName": primary_container,
        "primaryPodLabels": primary_pod_labels,
        "successCondition": trial_success_condition,
        "failureCondition": trial_failure_condition,
        "trialParameters": [one.reference for one in parameters],
        "trialSpec": trial,
    }
    spec = {
        "objective": _objective(objective),
        "algorithm": _algorithm(algorithm, algorithm_settings),
        "earlyStopping": None
        if early_stopping is None
        else _algorithm(early_stopping, early_stopping_settings),
        "parallelTrialCount": parallel_trial_count,
        "maxTrialCount": max_trial_count,
        "maxFailedTrialCount": max_failed_trial_count,
        "parameters": [one.tree for one in right],
        "metricsCollectorSpec": metrics_collector,
        "trialTemplate": {key: value for key, value in template.items() if value is not None},
    }
    failures = f"status.trialsFailed > {max(0, max_failed_trial_count)}"
    return make_job(
        draft,
        {"apiVersion": "kubeflow.org/v1beta1", "kind": "Experiment"},
        {key: value for key, value in spec.items() if value is not None},
        # Trials without metrics count as failed as well, which only the condition tells.
        ("status.completionTime", f"{failures},{condition_anywhere('Failed')}"),
        outputs={**STATUS, **_outputs(parameters, objective)},
        main="best_trial",
    )


def _report_unused(draft: JobDraft) -> None:
    """Report what only a trial without a template takes."""
    inputs = [name for name in draft.given if name.startswith("input_")]
    names = list(present({name: draft.given.get(name) for name in (*_OF_TRIAL, *inputs)}))
    if names:
        have = "have" if len(names) > 1 else "has"
        listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        draft.report(f"raw_template is the whole trial, so {listed} {have} no effect", "CLR106")


def _objective(given: Objective) -> Tree:
    tree: Tree = {"type": given["type"], "objectiveMetricName": given["metric_name"]}
    if "goal" in given:
        tree["goal"] = given["goal"]
    if given.get("additional_metric_names"):
        tree["additionalMetricNames"] = list(given["additional_metric_names"])
    return tree


def _algorithm(name: object, settings: Mapping[str, object] | None) -> Tree:
    tree: Tree = {"algorithmName": name}
    if settings:
        tree["algorithmSettings"] = [
            {"name": key, "value": as_text(value)} for key, value in settings.items()
        ]
    return tree


def _job(draft: JobDraft, container: str) -> Tree:
    template = pod_template(draft, container)
    template["spec"]["restartPolicy"] = "Never"
    return {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template}}


def _read_template(
    draft: JobDraft, given: str | Mapping[str, object], parameters: Sequence[Tuned]
) -> Tree:
    """Return the resource of a trial; report one that does not use what is tuned."""
    tree: t.Any = given
    if isinstance(given, str):
        import yaml

        try:
            tree = yaml.safe_load(given)
        except yaml.YAMLError as error:
            message = f"raw_template is no YAML: {error}"
            if "{{" in given:
                message = (
                    "raw_template is a template of Go, which Katib no longer takes; write "
                    "${trialParameters.NAME} where a hyperparameter goes"
                )
            draft.report(message, "CLR136")
            return {}
    if not isinstance(tree, Mapping):
        draft.report("raw_template must be one object: a resource", "CLR136")
        return {}
    missing = [key for key in ("apiVersion", "kind") if not tree.get(key)]
    if missing:
        draft.report(f"raw_template has no {' and no '.join(missing)}", "CLR136")
    texts = list(_texts(tree))
    for one in parameters:
        if not any(one.mark in text for text in texts):
            draft.report(f'raw_template has no {one.mark}, so "{one.name}" changes nothing')
    known = [one.name for one in parameters]
    for name in dict.fromkeys(found for text in texts for found in _MARK.findall(text)):
        if known and name not in known:
            hint = did_you_mean(name, known)
            draft.report(f'raw_template uses "{name}", which is not tuned.{hint}')
    return dict(tree)


def _texts(tree: object) -> t.Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, Mapping):
        for value in tree.values():
            yield from _texts(value)
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from _texts(value)
    elif isinstance(tree, Value):
        yield ""


def _outputs(parameters: Sequence[Tuned], objective: Objective) -> dict[str, Output]:
    metrics = f"{BEST}.observation.metrics"
    best = "max" if objective["type"] == "maximize" else "min"
    found = [
        Output(name="best_trial", json_path=f"{BEST}.bestTrialName}}"),
        Output(name="best_parameters", json_path=f"{BEST}.parameterAssignments}}", type="json"),
        Output(name="best_metrics", json_path=f"{metrics}}}", type="json"),
        Output(
            name="best_value",
            json_path=f'{metrics}[?(@.name=="{objective["metric_name"]}")].{best}}}',
            type="float",
        ),
        Output(name="trials", json_path="{.status.trialsSucceeded}", type="int"),
    ]
    found += [one.best for one in parameters]
    return {output.name: output for output in found}
