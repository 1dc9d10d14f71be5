"""What counts of a workflow besides its graph: how each field of the IR is compared."""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise

from cronsim import CronSim

from benchmarks.nl.reading import place_in_work
from couler.errors import ConfigurationError
from couler.ir import artifacts, pods, policies, storage, values, workflow as ir
from couler.ir.base import Node, Variant
from couler.ir.defaults import resolve_defaults
from couler.ir.graph import Graph
from couler.ir.quantity import parse_quantity
from couler.ir.walk import all_steps, predecessors

# how fields are compared -------------------------------------------------------------------------


def json_text(value: object) -> str:
    """Return a JSON value as text; whole numbers are the same with and without a fraction."""

    def plain(part: t.Any) -> t.Any:
        match part:
            case float() if part.is_integer():
                return int(part)
            case tuple() | list():
                return [plain(item) for item in part]
            case dict():
                return {key: plain(item) for key, item in part.items()}
            case str():
                return part.strip()
            case _:
                return part

    return json.dumps(plain(value), sort_keys=True)


def _amount(text: str) -> Hashable:
    return parse_quantity(text).normalize()


def _times(expressions: tuple[str, ...]) -> Hashable:
    """Return the times of a schedule, however it is written."""
    found = [CronSim(one, datetime(2024, 1, 1, tzinfo=UTC)) for one in expressions]
    fields = ("minutes", "hours", "days", "months", "weekdays")
    return frozenset(
        (*(frozenset(getattr(one, name)) for name in fields), one.day_and) for one in found
    )


def _unnamed(manifest: Mapping[str, t.Any]) -> Hashable:
    """Return a resource without what it is called."""
    return json_text({key: value for key, value in manifest.items() if key != "metadata"})


def _key(text: values.Text) -> Hashable:
    """Return a key without the slash that keys of folders may end with."""
    *before, last = found if isinstance(found := _stated(text), tuple) else (found,)
    return (*before, str(last).rstrip("/"))


def _headers(headers: tuple[storage.EnvVar, ...]) -> Hashable:
    lower = (one.model_copy(update={"name": one.name.lower()}) for one in headers)
    return _stated(tuple(lower))


def _stored(files: tuple[ir.Input | ir.Output, ...]) -> Hashable:
    """Return what files state besides data, and the paths of files of other storages."""
    found = []
    for one in files:
        stated = _fields(one)
        if one.at is not None and one.path is not None:
            stated = (*stated, ("path", place_in_work(one.path)))
        found += [stated] if stated else []
    return frozenset(found)


Row: t.TypeAlias = str | Callable[[t.Any], Hashable]
COMPARED, GRAPH = "compared", "graph"


def _rows(
    compared: str = "*", graph: str = "", how: Mapping[str, Row] | None = None, **free: str
) -> dict[str, Row]:
    """Return the row of each field; `free` has the fields that are not compared, by the reason."""
    rows = {COMPARED: compared, GRAPH: graph, **free}
    return {name: row for row, names in rows.items() for name in names.split()} | (dict(how or {}))


_AMOUNTS = dict.fromkeys(("cpu", "memory", "disk", "cpu_limit", "memory_limit"), _amount)

FIELDS: Mapping[type[Node], Mapping[str, Row]] = {
    ir.Workflow: _rows(
        "stored schedule volumes files pod timeout_s keep_s runs max_parallel locks metrics hooks "
        "suspended secrets labels annotations engine code_at",
        graph="parameters steps outputs exit_handlers",
        constant="ir_version", name="name", prose="description",
        merged="defaults", code="code", provenance="source",
    ),
    ir.Step: _rows(
        "foreach loop retry timeout_s cache env env_from mounts resources placement working_dir "
        "pull_policy container sidecars init_containers pod locks daemon max_parallel metrics "
        "hooks labels annotations logs engine",
        graph="action depends_on when",
        how={"inputs": _stored, "outputs": _stored},
        name="name display_name", lock="mutex", hint="program_order",
        estimate="profile", layout="part", provenance="source origin",
    ),
    ir.Parameter: _rows(
        "required config",
        graph="name",
        how={"default": json_text, "choices": lambda given: frozenset(map(json_text, given))},
        inferred="type nullable_text", prose="description",
    ),
    ir.Input: _rows(
        "at archive optional mode recurse_mode",
        graph="value path",
        name="name", inferred="type many",
    ),
    ir.Output: _rows(
        "at archive removal",
        graph="path json_path jq value default optional",
        name="name", inferred="type",
    ),
    ir.Schedule: _rows(
        how={"cron": _times, "concurrency": lambda found: None if found == "allow" else found}
    ),
    ir.Container: _rows("image", graph="kind command args"),
    ir.Script: _rows(
        "image packages", graph="kind source command function call", code="built files code"
    ),
    ir.Job: _rows(graph="kind values", how={"manifest": _unnamed}, alternative="local"),
    ir.Http: _rows(graph="kind url body", how={"success_codes": frozenset, "headers": _headers}),
    ir.Suspend: _rows("seconds", graph="kind", prose="message"),
    ir.Group: _rows("", graph="kind steps", layout="transparent"),
    policies.Cache: _rows("salt max_age_s", name="name"),
    policies.Retry: _rows(how={"on": frozenset, "exit_codes": frozenset}),
    policies.Foreach: _rows("max_parallel", graph="over"),
    policies.Loop: _rows("max_iterations", graph="condition"),
    policies.Resources: _rows(how=_AMOUNTS),
    artifacts.HdfsLocation: _rows(how={"path": _key}),
    artifacts.AzureLocation: _rows(how={"blob": _key}),
    **dict.fromkeys(
        (artifacts.S3Location, artifacts.OssLocation, artifacts.GcsLocation),
        _rows(how={"key": _key}),
    ),
    **dict.fromkeys((policies.Counter, policies.Gauge, policies.Histogram), _rows(prose="help")),
    **dict.fromkeys((ir.FunctionCall, ir.NamedType, ir.DataType, ir.CodeFile), _rows(code="*")),
    **dict.fromkeys(
        (*values.VALUE_KINDS, values.And, values.Or, values.Not, values.Compare,
         values.ManifestValue, ir.ExitHandler, policies.AnyOf, policies.Dependency),
        _rows("", graph="*"),
    ),
    ir.LocalForm: _rows(alternative="*"),
    ir.Defaults: _rows(merged="*"),
    policies.Profile: _rows(estimate="*"),
    policies.Part: _rows(layout="*"),
    policies.SourceRef: _rows(provenance="*"),
    **dict.fromkeys(
        (
            *(artifacts.ListFiles, artifacts.GitLocation, artifacts.HttpLocation),
            *(artifacts.ArtifactoryLocation, artifacts.RawLocation, artifacts.PluginLocation),
            *(artifacts.Tar, artifacts.Zip, artifacts.FileRemoval, artifacts.HttpHeader),
            *(artifacts.BasicAuth, artifacts.ClientCertificate, artifacts.OAuth2),
            *(artifacts.Encryption, artifacts.RepositoryRef, artifacts.RunFileRemoval),
            *(artifacts.FileSettings, artifacts.LogSettings, ir.StoredWorkflow, ir.Hook),
            *(ir.ContainerSet, ir.SetRetry, ir.Plugin, ir.TemplateCall, policies.Backoff),
            *(policies.DatabaseSemaphore, policies.Mutex, policies.Semaphore, policies.Gpu),
            *(policies.Placement, policies.Toleration, policies.MetricLabel),
            *(storage.SecretKey, storage.ConfigKey, storage.EnvVar, storage.EnvFrom),
            *(storage.Mount, *t.get_args(t.get_args(storage.Volume)[0])),
            *(pods.PodSettings, pods.RunSettings, pods.ContainerSettings, pods.PodContainer),
            *(pods.StepPod, pods.HostAlias, pods.Dns, pods.RunLabel, pods.Retention),
            *(pods.DisruptionBudget, pods.PodCleanup, pods.ExecutorPlugin, pods.Port),
            *(pods.RestartRule, pods.Resize, pods.Device),
        ),
        _rows(),
    ),
}  # fmt: skip
"""How each field is compared: as it is, by a function, in the graph, or not for a reason."""


def row_of(cls: type[Node], field: str) -> Row | None:
    """Return how a field is compared; None if the table has no row for it."""
    rows = FIELDS.get(cls, {})
    return rows.get(field, rows.get("*"))


# what a workflow states --------------------------------------------------------------------------

_PLAIN_IMAGE = re.compile(r"python:3\.\d+-slim")


def _compared(node: Node, *rows: str) -> Iterator[tuple[str, t.Any]]:
    """Yield what the fields of a node state that the table compares, or has in some rows."""
    for name in type(node).model_fields:
        row, value = row_of(type(node), name), getattr(node, name)
        if callable(row) and value is not None:
            value = row(value)
        elif row not in (COMPARED, *rows):
            continue
        is_empty = isinstance(value, str | tuple | dict | frozenset) and not value
        is_never = isinstance(value, policies.Retry) and not value.limit
        if value is not None and value is not False and not is_empty and not is_never:
            yield name, value


def _stated(value: t.Any) -> Hashable:
    """Return what a field states; a value of the workflow is a blank, as the graph has it."""
    match value:
        case values.Literal():
            return json_text(value.value)
        case values.Template():
            return tuple(map(_stated, value.parts))
        case values.OwnRef() | values.RunRef():
            return value.model_dump_json()
        case Node() if type(value) in values.VALUE_KINDS:
            return "a value"
        case Node():
            return _fields(value, GRAPH)
        case tuple():
            are_nodes = value and isinstance(value[0], Node)
            return (frozenset if are_nodes else tuple)(map(_stated, value))
        case dict():
            return json_text(value)
        case _:
            return t.cast("Hashable", value)


def _fields(node: Node, *rows: str) -> tuple[tuple[str, Hashable], ...]:
    return tuple((name, _stated(value)) for name, value in _compared(node, *rows))


def facts(node: Node, prefix: str = "") -> dict[str, Hashable]:
    """Return what a node states by the path of the field, such as `retry.limit`."""
    found: dict[str, Hashable] = {}
    for name, value in _compared(node):
        path = f"{prefix}{name}"
        if isinstance(value, Node) and not isinstance(value, Variant):
            found |= {path: True, **facts(value, f"{path}.")}
        else:
            found[path] = _stated(value)
    return found


def step_facts(step: ir.Step) -> dict[str, Hashable]:
    """Return what a step states, its action included."""
    if step.mutex is not None:
        step = step.model_copy(update={"mutex": None, "locks": policies.locks_of(step)})
    found = facts(step) | facts(step.action, "action.")
    if step.is_function and _PLAIN_IMAGE.fullmatch(str(found.get("action.image"))):
        del found["action.image"]
    return found


def normal_form(workflow: ir.Workflow) -> ir.Workflow:
    """Return a workflow with its defaults at the steps, and bounds of a lone map as its own."""
    workflow = resolve_defaults(workflow)
    order = Graph.of(workflow.steps).topological_order
    by_name = {step.name: step for step in workflow.steps}
    are_in_a_row = all(one in predecessors(by_name[other]) for one, other in pairwise(order))
    maps = [step for step in workflow.steps if step.foreach and step.foreach.max_parallel]
    if workflow.exit_handlers or workflow.max_parallel or not are_in_a_row or len(maps) != 1:
        return workflow
    (step,) = maps
    if isinstance(step.action, ir.Group):  # the bound is one on its instances, not on steps
        return workflow
    foreach = step.foreach and step.foreach.model_copy(update={"max_parallel": None})
    free = step.model_copy(update={"foreach": foreach})
    steps = tuple(free if one is step else one for one in workflow.steps)
    bound = step.foreach and step.foreach.max_parallel
    return workflow.model_copy(update={"steps": steps, "max_parallel": bound})


# what counts in a comparison ---------------------------------------------------------------------

OF_GRAPH = frozenset(("data", "commands", "sources"))
ALWAYS = OF_GRAPH | frozenset(
    (
        *("schedule", "suspended", "cache", "daemon", "resources.gpu", "loop.max_iterations"),
        *("action.seconds", "action.verify_tls", "parameter.default", "parameter.required"),
    )
)
"""What counts also where the reference states nothing of it."""

ON_REQUEST = frozenset(("literals", "action.packages"))
"""What counts only where an item asks for it."""


class Aspects(frozenset[str]):
    """What counts in one comparison: paths of fields, and parts of the graph."""

    def of(self, found: Mapping[str, Hashable]) -> dict[str, Hashable]:
        """Return those of some facts that count."""
        return {name: value for name, value in found.items() if name in self}


def aspects_for(
    reference: ir.Workflow,
    *,
    any_kind: bool = False,
    ignore: Iterable[str] = (),
    also: Iterable[str] = (),
) -> Aspects:
    """Return what counts when answers are compared with a reference: all that it states."""
    for name in (*ignore, *also):
        known = ALWAYS | ON_REQUEST | {*ir.Step.model_fields, *ir.Workflow.model_fields}
        if name not in known:
            raise ConfigurationError(
                f'there is no aspect "{name}"; there are: {", ".join(sorted(known))}'
            )
    reference = normal_form(reference)
    stated = {*facts(reference)}.union(*map(step_facts, all_steps(reference)))
    stated = stated.union(*(facts(one, "parameter.") for one in reference.parameters))
    if any_kind:
        also, ignore = (*also, "any kind"), (*ignore, "commands", "sources", "action.image")
    return Aspects(
        name
        for name in (ALWAYS | stated) - ON_REQUEST | {*also}
        if not {name, name.partition(".")[0]} & {*ignore}
    )
