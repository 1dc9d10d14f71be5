"""Functions that DAG files carry, as they stand here: each file has those that it uses."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable
from datetime import UTC
from typing import TYPE_CHECKING, Any

from couler.backends.airflow.runtime_places import near, pull, states_near
from couler.ir.semantics.wire import (
    as_json,
    dump_json,
    elements,
    encode,
    part,
    to_text,
)

if TYPE_CHECKING:
    from airflow.sdk import RetryDecision, RetryPolicy
    from airflow.sdk.exceptions import (
        AirflowFailException,
        AirflowSkipException,
        AirflowTaskTimeout,
    )
    from airflow.sdk.log import mask_secret
    from kubernetes.client import models as k8s

HELPER_IMAGE = ""
PROCESS = ""
BESIDE = ""
"""Stand for what a file defines: an image with busybox, the texts of `process.sh`, `beside.sh`."""

MODULES: dict[str, tuple[str, ...]] = {
    "airflow.sdk": ("RetryDecision", "RetryPolicy"),
    "airflow.sdk.log": ("mask_secret",),
    "airflow.sdk.exceptions": (
        "AirflowFailException",
        "AirflowSkipException",
        "AirflowTaskTimeout",
    ),
    "collections.abc": ("Callable",),
    "datetime": ("UTC",),
    "hashlib": (),
    "json": (),
    "kubernetes.client": ("models as k8s",),
    "itertools": (),
    "operator": (),
    "re": (),
    "shlex": (),
    "typing": ("Any",),
}
"""Where the names come from that the functions use."""


def output(ti: Any, task: str, name: str = "result") -> str | None:
    """Return an output of a task; None if it did not run, or not well."""
    outputs = ti.xcom_pull(task_ids=task)
    return None if outputs is None else outputs.get(name)


def make_rows(ti: Any, lists: dict[str, str]) -> list[dict[str, str]]:
    """Keep the rows of lists of one length; return a label for each."""
    return rows_of(ti, {name: elements(value) for name, value in lists.items()})


def make_plain_rows(ti: Any, lists: dict[str, str]) -> list[dict[str, str]]:
    """Keep the rows of lists that functions gave, as texts; return a label for each."""
    read = {
        name: [one if isinstance(one, str) else json.dumps(one) for one in json.loads(value)]
        for name, value in lists.items()
    }
    return rows_of(ti, read)


def rows_of(ti: Any, read: dict[str, list[str]]) -> list[dict[str, str]]:
    """Keep the rows of lists, which must be of one length; return a label for each."""
    lengths = {name: len(value) for name, value in read.items()}
    shown = ", ".join(f"{name} has {length}" for name, length in lengths.items())
    if len(set(lengths.values())) > 1:
        raise AirflowFailException(f"lists that are read together differ in length: {shown}")
    if max(lengths.values()) > 1000:
        raise AirflowFailException(f"a list has more than 1000 items: {shown}")
    rows = [dict(zip(read, row, strict=True)) for row in zip(*read.values(), strict=True)]
    ti.xcom_push(key="rows", value=rows)
    return [{"couler-item": str(index)} for index in range(len(rows))]


def listed(ti: Any, task: str, name: str, rows: str = "", *, texts: bool = False) -> str:
    """Return the JSON of what all items of a task gave; an earlier try may have had more."""
    given = ti.xcom_pull([task])
    if rows:
        given = given[: len(ti.xcom_pull(rows, key="rows"))]
    found = [json.dumps(one[name], ensure_ascii=False) if texts else one[name] for one in given]
    return f"[{','.join(found)}]".replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def check_sizes(place: str, rows: str, kinds: dict[str, str], ti: Any) -> None:
    """Fail if a list of what the items of a task gave is too large to travel."""
    for name, kind in kinds.items():
        texts = kind in ("str", "file", "directory")
        size = len(listed(ti, place, name, rows, texts=texts).encode())
        if size > 96 * 1024:
            raise AirflowFailException(f"{name} takes {size} bytes in all, and 98304 may travel")


def gather(
    ti: Any, place: str, name: str, rows: Any, default: str | None = None
) -> list[str | None] | None:
    """Return what all items of a step gave as an output, None for those that failed."""
    made = pull(ti, rows, "rows") if isinstance(rows, str) else range(rows)
    if made is None:
        return None
    task, indexes = near(ti, place), range(len(made))
    if "*" in task:
        found = [pull(ti, task.replace("*", str(index))) for index in indexes]
    else:
        found = ti.xcom_pull(task_ids=task, map_indexes=indexes) if made else []
    return [None if one is None else one.get(name, default) for one in found]


def gathered(
    ti: Any, place: str, name: str, rows: Any, kind: str = "str", default: str | None = None
) -> str | None:
    """Return the outputs of all items of a step as a JSON list."""
    found = gather(ti, place, name, rows, default)
    if found is None:
        return None
    texts = ("null" if one is None else as_json(one, kind) for one in found)
    return f"[{','.join(texts)}]"


def if_started(ti: Any, step: str, value: str | None) -> str | None:
    """Return what the items of a step give; None if it has none, as it was skipped or omitted."""
    own, states = near(ti, step), states_near(ti)
    if {"failed", "upstream_failed"} & states.get(f"{own}.when", set()):  # the ends of items fail
        return None
    names = [name for name in states if name == own or name.startswith(f"{own}.")]
    ran = any({"success", "failed"} & states[name] for name in names)
    return value if ran or not names else None


def joined(*parts: str | None) -> str | None:
    """Return texts joined; None if one is not there."""
    there = [part for part in parts if part is not None]
    return "".join(there) if len(there) == len(parts) else None


def first_of(*values: str | None) -> str | None:
    """Return the first value that is there."""
    return next((value for value in values if value is not None), None)


def json_or_none(value: Any) -> str | None:
    """Return a value that need not be there as JSON."""
    return None if value is None else dump_json(value)


def part_of(value: str | None, *path: str | int) -> str | None:
    """Return a part of a JSON value, by keys and indexes, as JSON."""
    return None if value is None else part(value, *path)


def field_of(value: str | None, *path: str | int, as_json: bool = False) -> str | None:
    """Return a part of what a function returned as JSON, or as a text if it is one."""
    if value is None:
        return None
    found = json.loads(value)
    for key in path:
        there = dict(enumerate(found)) if isinstance(found, list) else found
        if not isinstance(there, dict) or key not in there:
            raise AirflowFailException(f"there is no {key!r} in {found!r:.60}")
        found = there[key]
    if isinstance(found, str) and not as_json:
        return found
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def plain(value: str | None) -> str | None:
    """Return JSON that need not be there as a reader of text gets it."""
    return None if value is None else to_text(value)


def skip_unless(condition: Callable[[Any, Any], bool], context: Any) -> None:
    """Skip a task, before it starts, if its condition is false."""
    if not condition(context["ti"], context["params"]):
        raise AirflowSkipException(f"{condition.__name__} is false")


def open_gate(*needs: Any, ti: Any) -> None:
    """Succeed if each need is met by one of its alternatives: a way to end, the step, its last."""
    unmet = [need for need in needs if not any(ended_so(ti, *one) for one in need)]
    for need in unmet:
        if not any(way == "failure" for way, *_ in need):
            raise AirflowFailException(f"none of {need} came true")
    if unmet:
        raise AirflowSkipException(f"none of {unmet} came true")


def ended_so(ti: Any, way: str, step: str, leaves: list[str], first: str = "") -> bool:
    """Return whether a step ended in a way: its own task, or those with which it ends."""
    if way == "completion":
        return True
    states, tasks = states_near(ti), ti.task.dag.task_dict
    own, *others = (near(ti, one) for one in (step, first, *leaves))
    bad = any({"failed", "upstream_failed"} & states.get(leaf, set()) for leaf in others[1:])
    if way == "success":
        return not bad
    if "upstream_failed" in states.get(others[0], ()):
        return False
    inside = (one for one in states if one.startswith(f"{own}."))
    failed = [one for one in (own, *others, *inside) if "failed" in states.get(one, ())]
    return bad and not all(is_gate(tasks.get(one)) for one in failed)


def is_gate(task: Any) -> bool:
    """Return whether a task says what comes next: its own failure is none."""
    function = getattr(task, "python_callable", None)
    return getattr(function, "__name__", "") == "open_gate"


def if_it_ran(ti: Any, tasks: list[str], value: str | None) -> str | None:
    """Return what a group gives out; None if it was skipped with its gate, or did not end well."""
    states = states_near(ti)
    gate, *leaves = (states.get(near(ti, task), set()) for task in tasks)
    ends = gate.union(*leaves)
    return None if "skipped" in gate or {"failed", "upstream_failed"} & ends else value


def passed() -> None:
    """Do nothing: a gate is open unless it was skipped before it started."""


def process(
    command: list[Any], outputs: list[str] | None = None, beside: list[str] | None = None
) -> dict[str, Any]:
    """Return what a pod needs to run a command by PROCESS, which hands its outputs on."""
    tools = k8s.V1Volume(name="couler", empty_dir=k8s.V1EmptyDirVolumeSource())
    mount = k8s.V1VolumeMount(name="couler", mount_path="/couler")
    copy = k8s.V1Container(
        name="couler",
        image=HELPER_IMAGE,
        command=["cp", "/bin/busybox", "/couler/busybox"],
        volume_mounts=[mount],
    )
    return {
        "cmds": ["/couler/busybox", "sh", "-c", "{{ PROCESS }}", "couler"],
        "arguments": [*(outputs or ()), *(beside or ()), "--", *command],
        "init_containers": [copy],
        "volumes": [tools],
        "volume_mounts": [mount],
        "do_xcom_push": bool(outputs or beside),
    }


def with_packages(packages: list[str], command: list[str]) -> list[str]:
    """Return a command that installs packages of Python before it runs a script."""
    install = "python -m pip install -q --disable-pip-version-check --root-user-action=ignore"
    run = f'{install} {shlex.join(packages)} >&2 && exec "$@"'
    return ["/couler/busybox", "sh", "-c", run, "sh", *command]


def ends_with_process(container: dict[str, Any]) -> dict[str, Any]:
    """Return a container that is run by BESIDE, so that it ends with the process of its pod."""
    run = ["/couler/busybox", "sh", "-c", "{{ BESIDE }}", container["name"]]
    tools = {"name": "couler", "mountPath": "/couler"}
    return {
        **container,
        "command": [*run, *container["command"]],
        "volumeMounts": [*container.get("volumeMounts", ()), tools],
    }


def run_failed(ti: Any, leaves: list[str]) -> bool:
    """Return whether a run has failed: a task with which it ends, or one above one not run."""
    states, tasks = states_near(ti), ti.task.dag.task_dict
    left, seen = [near(ti, leaf) for leaf in leaves], set[str]()
    while left:
        task = left.pop()
        if task in seen:
            continue
        seen.add(task)
        made, ends = tasks[task], states.get(task, set())
        if is_gate(made):  # it says what comes next, not what was before
            needs = (leaves for need in made.op_args for _, _, leaves, *_ in need)
            left += (near(made, one) for needed in needs for one in needed)
        elif ends & {"failed", "upstream_failed"}:
            return True
        elif "success" not in ends:
            left += right_before(made)
    return False


def right_before(task: Any) -> set[str]:
    """Return the tasks before one, less those that `wait_for_all` adds: they come before others."""
    found: set[str] = task.upstream_task_ids
    if task.trigger_rule != "all_done":
        return found
    return found.difference(
        *(one.get_flat_relative_ids(upstream=True) for one in task.upstream_list)
    )


def check_end(leaves: list[str], ti: Any) -> None:
    """Fail if the run has failed, or the group that these tasks end."""
    if not run_failed(ti, leaves):
        return
    states, tasks = states_near(ti), ti.task.dag.task_dict
    failed = [one for one in states if "failed" in states[one] and not is_gate(tasks.get(one))]
    raise AirflowFailException(
        f"no task that ran after a failure has handled it; failed: {', '.join(sorted(failed))}"
    )


def there(value: Any, entry: str) -> str:
    """Return an entry of a connection as text; fail if there is none."""
    if value is None:
        raise AirflowFailException(f"there is no {entry}")
    return encode(value)


def hidden(value: str) -> str:
    """Return a secret for a pod, its dollars doubled; Airflow shows neither form of it."""
    doubled = value.replace("$", "$$")
    for shown in (value, doubled):
        mask_secret(shown)
    return doubled


def run_name(ti: Any, name: str) -> str:
    """Return a name for an object that is of one run."""
    run = hashlib.sha256(f"{ti.dag_id} {ti.run_id}".encode()).hexdigest()
    return f"{name}-{run[:10]}"


def run_time(ti: Any) -> str:
    """Return the time that the run stands for, or that of its start, in UTC."""
    run = ti.get_template_context()["dag_run"]
    when = run.logical_date or run.run_after
    return str(when.astimezone(UTC).isoformat(timespec="seconds"))


def retry_if(
    kind: str | None = None,
    exit_codes: list[int] | None = None,
    passing: list[str | int] | None = None,
) -> Any:
    """What allows a retry after failures of one kind, with certain exit codes, or passing."""

    def evaluate(_: Any, exception: BaseException, context: Any, **tries: int) -> Any:
        pod = getattr(context["ti"].task, "remote_pod", None)
        found, code = end_of(pod)
        late: BaseException | None = exception
        while late and not isinstance(late, AirflowTaskTimeout):  # what cleans up can fail as well
            late = late.__context__
        if late or isinstance(exception, RuntimeError):
            found, code = "failure", None
        if (kind and found != kind) or (exit_codes and code not in exit_codes):
            return RetryDecision.fail(f"no retry after this {found}, exit code {code}")
        if passing is not None and not is_passing(pod, exception, passing):
            return RetryDecision.fail(f"no retry, as this {found} is not known to pass")
        return RetryDecision.default()

    return type("RetryIf", (RetryPolicy,), {"evaluate": evaluate})()


def is_passing(pod: Any, exception: BaseException, known: list[str | int]) -> bool:
    """Return whether an error is one of the known: by why the pod ended, a status or its class."""
    told: set[Any] = {pod and pod.status.reason}
    cause: BaseException | None = exception
    while cause:
        told |= {one.__name__ for one in type(cause).__mro__}
        told.add(getattr(cause, "status", None))
        if "sidecar container is already terminated" in str(cause):
            told.add("XComRetrievalError")
        cause = cause.__context__
    return not told.isdisjoint(known)


def end_of(pod: Any) -> tuple[str, int | None]:
    """Return how a pod has failed, and the exit code of its process if that has."""
    if pod is None or pod.status.reason:  # which is why the pod was ended from outside
        is_late = pod is not None and pod.status.reason == "DeadlineExceeded"
        return "failure" if is_late else "error", None
    for one in pod.status.container_statuses or []:
        ended = one.state.terminated
        if one.name != "base" or not ended or not ended.exit_code:
            continue
        words = (ended.message or "").partition(": ")[0]
        if words in ("couler error", "couler failure"):
            return words.removeprefix("couler "), None
        if ended.reason not in ("ContainerCannotRun", "StartError"):
            return "failure", ended.exit_code
    return "error", None


def fitting(name: str, value: str | None) -> str | None:
    """Return a value that is made here; fail if it is too large to travel."""
    size = len((value or "").encode())
    if size > 64 * 1024:
        raise AirflowFailException(f"{name} takes {size} bytes, and 65536 may travel")
    return value


def check_lists(
    place: str,
    rows: Any,
    kinds: dict[str, str],
    defaults: dict[str, str] | None = None,
    ti: Any = None,
) -> None:
    """Fail if a list of what items gave is too large to travel; skip if there were none."""
    given = defaults or {}
    lists = {name: gather(ti, place, name, rows, given.get(name)) for name in kinds}
    if None in lists.values() or {one for texts in lists.values() for one in texts or ()} == {None}:
        raise AirflowSkipException(f"{place} was skipped")
    for name, kind in kinds.items():
        texts = lists[name] or []
        if kind in ("str", "file", "directory"):
            texts = [json_or_none(one) for one in texts]
        size = sum(len((one or "null").encode()) + 1 for one in texts) + 1
        if size > 96 * 1024:
            raise AirflowFailException(f"{name} takes {size} bytes in all, and 98304 may travel")


def wait_for_all(dag: Any) -> None:
    """Have each task that runs after any end wait for all before it."""
    for task in dag.tasks:
        if runs_after_any_end(task):
            before: set[str] = set()
            found = set(task.upstream_task_ids)
            while found:
                before |= found
                walked = (one for one in map(dag.get_task, found) if not runs_after_any_end(one))
                found = {up for one in walked for up in one.upstream_task_ids} - before
            ended = {up for one in before for up in ended_before(dag.get_task(one))}
            for one in sorted(before - ended - task.upstream_task_ids):
                task.set_upstream(dag.get_task(one))


def runs_after_any_end(task: Any) -> bool:
    """Return whether a task waits until all tasks right before it have ended, in any way."""
    return task.trigger_rule in ("all_done", "all_done_setup_success")


def ended_before(task: Any) -> set[str]:
    """Return which tasks right before one have surely ended when it has."""
    found: set[str] = task.upstream_task_ids
    if runs_after_any_end(task) or not found:
        return found
    first, *others = task.upstream_list
    is_mapped = first.is_mapped or first.get_closest_mapped_task_group() is not None
    return set() if others or is_mapped else found


def before(rounds: list[Any]) -> list[Any]:
    """Return the last of the rounds so far, and those 2, 4, 8... back: a skip reaches all soon."""
    return [rounds[-(2**power)] for power in range(len(rounds).bit_length())]
