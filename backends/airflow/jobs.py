"""Resources of the cluster: a sensor that creates one and looks after it until it has ended."""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Mapping

from couler.backends.airflow.operators import SENSOR, Operator, short
from couler.backends.airflow.python import Code, call
from couler.backends.airflow.reading import Scope
from couler.ir.values import filled
from couler.ir.workflow import Job, Step

if t.TYPE_CHECKING:
    from couler.backends.airflow.module import Module
    from couler.backends.airflow.tasks import Tasks

Part = str | int | list[object]

_PART = re.compile(
    r"""
      \.?\[\s*(?P<index>-?\d+)\s*\]
    | \.?\[\s*(?P<quoted>'[^']*'|"[^"]*")\s*\]
    | (?P<all>\.?\[\s*\*\s*\]|\.\*)
    | \.?\[\s*\?\s*\(\s*@\.(?P<field>[\w./-]+)\s*(?P<sign>==|!=)\s*
      (?P<value>'[^']*'|"[^"]*"|-?\d+(?:\.\d+)?|true|false)\s*\)\s*\]
    | \.(?P<key>(?:\\.|[^.\[\]\\*{}'"\s])+)
    """,
    re.VERBOSE,
)


def read_path(path: str) -> list[Part] | None:
    r"""Return a path as data; None for one that is more than that."""
    found = re.fullmatch(r"\s*\{\s*([@$]?)(.*?)\s*\}\s*", path, re.DOTALL)
    if found is None:
        return None
    text, place, parts = found[2], 0, list[Part]()
    if text and text[0] not in ".[":
        text = f".{text}"
    while place < len(text):
        part = _PART.match(text, place)
        if part is None:
            return None
        parts.append(_path_part(part))
        place = part.end()
    return parts


def _path_part(part: re.Match[str]) -> Part:
    if part["index"]:
        return int(part["index"])
    if part["quoted"]:
        return part["quoted"][1:-1]
    if part["all"]:
        return []
    if part["field"]:
        value = part["value"]
        given = value[1:-1] if value[0] in "'\"" else json.loads(value)
        return [part["field"].split("."), part["sign"], given]
    return re.sub(r"\\(.)", r"\1", part["key"])


_TOKEN = re.compile(r"==|!=|[<>=!(),]|[^\s=<>!(),]+")
_PATCHES = {"strategic": None, "merge": "merge-patch", "json": "json-patch", None: None}


def job(step: Step, action: Job, scope: Scope, module: Module, tasks: Tasks) -> Operator:
    """Return the operator of a job."""
    manifest, is_json = _manifest(action, scope, tasks)
    outputs = {one.name: read_path(one.json_path) for one in step.outputs if one.json_path}
    given: dict[str, object] = {
        "manifest": manifest,
        "json_at": _past_jinja(is_json, tasks) or None,
        "success": parts(action.success_condition) or None,
        "failure": parts(action.failure_condition) or None,
        "outputs": _past_jinja(outputs, tasks) or None,
        "limit_s": None if step.timeout_s is None else short(step.timeout_s),
    }
    function = "run_resource"
    if action.action != "create":
        function = "change_resource"
        given = {"action": action.action, **given, "patch": _PATCHES[action.merge_strategy]}
    fields = {
        "python_callable": Code(module.use(function)),
        "op_kwargs": {key: value for key, value in given.items() if value is not None},
        "mode": "reschedule",
        "poke_interval": 30,
        "timeout": call(module.take("datetime", "timedelta"), days=365),
    }
    return Operator(module.take(SENSOR, "PythonSensor"), fields, time_limit="")


def belongs_to_run(action: Job) -> bool:
    """Return whether the resource is removed together with the run."""
    return action.action == "create" and action.set_owner_reference


def kind_of(action: Job) -> dict[str, object]:
    """Return what of a manifest tells where its resource is."""
    kind = {key: action.manifest[key] for key in ("apiVersion", "kind")}
    namespace = action.manifest.get("metadata", {}).get("namespace")
    return {**kind, "metadata": {"namespace": namespace}} if namespace else kind


def _manifest(action: Job, scope: Scope, tasks: Tasks) -> tuple[object, list[list[str | int]]]:
    """Return the resource, and where it has the text of a value that is read as JSON."""
    known: list[tuple[tuple[str | int, ...], object]] = []
    is_json: list[list[str | int]] = []
    for given in action.values:
        read = scope.read(given.value).to(given.type)
        if read.constant is None:
            known.append((given.path, tasks.read(given.value, given.type, scope)))
            if given.type != "str":
                is_json.append(list(given.path))
        elif given.type == "str":
            known.append((given.path, read.constant))
        else:
            known.append((given.path, json.loads(read.constant)))
    return _past_jinja(filled(action.manifest, known), tasks), is_json


def _past_jinja(tree: object, tasks: Tasks) -> object:
    if isinstance(tree, str):
        return tasks.as_it_is(tree)
    if isinstance(tree, Mapping):
        return {key: _past_jinja(value, tasks) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_past_jinja(value, tasks) for value in tree]
    return tree


def parts(condition: str | None) -> list[list[str]]:
    """Return the parts of a condition on a resource: path, comparison, values."""
    tokens = _TOKEN.findall(condition or "")
    found: list[list[str]] = []
    inside = False
    for token in tokens:
        if token == "," and not inside:
            found.append([])
            continue
        found = found or [[]]
        inside = token != ")" and (inside or token == "(")
        if token not in ("(", ")", ","):
            found[-1].append(token)
    return [_part(*one) for one in found]


def _part(path: str, sign: str = "is", *values: str) -> list[str]:
    if path == "!":
        return [sign, "!"]
    signs = {"=": "in", "==": "in", "!=": "notin"}
    if sign in signs and not values:
        values = ("",)
    return [path, signs.get(sign, sign), *values]
