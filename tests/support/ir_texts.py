"""All texts of the IR: the fields that hold them, and where they stand in workflows.

The models themselves are walked, so a field that is added is among them.
"""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Iterator

from couler.ir.artifacts import FileSettings, GcsLocation, GitLocation, RunFileRemoval
from couler.ir.base import FrozenDict, Node
from couler.ir.pods import DisruptionBudget, RunSettings
from couler.ir.policies import Counter, DatabaseSemaphore, Gpu, MetricLabel, Profile, Resources
from couler.ir.serialize import from_tree, to_tree
from couler.ir.storage import ConfigVolume, EphemeralVolume, Mount, NewClaimVolume
from couler.ir.values import Literal
from couler.ir.workflow import (
    CodeFile,
    Container,
    DataType,
    FunctionCall,
    Input,
    Job,
    LocalForm,
    NamedType,
    Script,
    Step,
    Workflow,
)
from tests.corpus import cases
from tests.support.argo_samples import ARGO_SAMPLES
from tests.support.feature_samples import FEATURE_SAMPLES
from tests.support.sample_flows import echo, flow

Field: t.TypeAlias = tuple[str, str]
"""A model and a field of it."""
Key: t.TypeAlias = tuple[str, ...]
"""Names of the fields that lead to a text, groups and hooks left out."""


class Place(t.NamedTuple):
    """Where a text stands in a workflow."""

    workflow: Workflow
    path: tuple[str | int, ...]
    field: Field
    is_key: bool = False
    """It is the key of a map."""

    def with_text(self, change: t.Callable[[str], str]) -> Workflow:
        """Return the workflow with another text there; raise if the model does not take it."""
        tree = to_tree(self.workflow)
        inner: t.Any = tree
        for key in self.path[:-1]:
            inner = inner[key]
        last = self.path[-1]
        if self.is_key:
            inner[change(str(last))] = inner.pop(last)
        else:
            inner[last] = change(inner[last])
        return from_tree(tree)


def text_fields() -> set[Field]:
    """Return all fields of the IR that can hold a text of the user's."""
    return {
        (model.__name__, name)
        for model in _models(Workflow)
        for name, info in model.model_fields.items()
        if _holds_text(info.annotation)
    }


_REST = flow(
    echo(
        "a",
        mounts=(Mount(volume="settings", path="/settings", sub_path="below"),),
        resources=Resources(gpu=Gpu(count=1, resource="amd.com/gpu"), other={"x.org/y": "1"}),
        locks=(DatabaseSemaphore(key="k", namespace="other"),),
        metrics=(
            Counter(
                name="n",
                help="h",
                value=Literal(value=1),
                labels=(MetricLabel(name="l", value="x"),),
            ),
        ),
        inputs=(
            Input(name="g", type="file", at=GcsLocation(key="k", bucket="b")),
            Input(name="t", type="file", at=GitLocation(repository="https://x.org", revision="v")),
        ),
        profile=Profile(model="random-forest"),
        origin="pass",
    ),
    Step(
        name="b",
        action=Script(
            image="python:3.12-slim",
            source="pass",
            code="d",
            files=("d.py",),
            function="fit",
            call=FunctionCall(
                arguments=(NamedType(name="x", type=DataType(kind="enum", name="Color")),),
                file="d.py",
                lines=((0, 1),),
            ),
        ),
        depends_on=("a",),
        program_order=("a",),
    ),
    Step(
        name="c",
        action=Job(
            manifest=FrozenDict(apiVersion="v1", kind="ConfigMap"),
            local=LocalForm(
                action=Container(image="alpine:3", command=("true",)), working_dir="/tmp"
            ),
        ),
    ),
    code=(CodeFile(path="d.py", text="x"), CodeFile(path="e.bin", base64="eA==")),
    volumes=(
        ConfigVolume(name="settings", config_map="settings", items={"key": "file"}),
        EphemeralVolume(name="scratch", size="1Gi", access_modes=("ReadWriteMany",)),
        NewClaimVolume(
            name="made", size="1Gi", access_modes=("ReadWriteMany",), storage_class="fast"
        ),
    ),
    runs=RunSettings(disruption_budget=DisruptionBudget(max_unavailable="50%")),
    files=FileSettings(removal=RunFileRemoval(on="deletion", annotations={"note": "x"})),
)
"""States what no other sample does."""


@functools.cache
def places() -> dict[Key, Place]:
    """Return for each way to a text in the samples and in the corpus one place."""
    found: dict[Key, Place] = {}
    workflows = [*FEATURE_SAMPLES.values(), *(one.workflow for one in ARGO_SAMPLES.values())]
    workflows.append(_REST)
    workflows += [case.workflow for case in cases()]
    for workflow in workflows:
        for key, place in _places(workflow, workflow, (), ()):
            found.setdefault(key, place)
    return found


def _places(
    workflow: Workflow, node: Node, path: tuple[str | int, ...], key: Key
) -> Iterator[tuple[Key, Place]]:
    for name, info in type(node).model_fields.items():
        value = getattr(node, name)
        if value is None or value == info.get_default():
            continue
        inner = (*key, f"{type(node).__name__}.{name}")
        if name in ("action", "step"):  # of a step; not those inside of groups and of hooks
            inner = (inner[-1],)
        field = (type(node).__name__, name)
        yield from _in_value(workflow, value, (*path, name), inner, field)


def _in_value(
    workflow: Workflow, value: t.Any, path: tuple[str | int, ...], key: Key, field: Field
) -> Iterator[tuple[Key, Place]]:
    if isinstance(value, Node):
        yield from _places(workflow, value, path, key)
    elif isinstance(value, str):
        if field in text_fields_cached():
            yield key, Place(workflow, path, field)
    elif isinstance(value, dict):
        for name, one in value.items():
            if field in text_fields_cached():
                yield (*key, "KEY"), Place(workflow, (*path, name), field, is_key=True)
            yield from _in_value(workflow, one, (*path, name), key, field)
    elif isinstance(value, tuple):
        for index, one in enumerate(value):
            yield from _in_value(workflow, one, (*path, index), key, field)


text_fields_cached = functools.cache(text_fields)


def _models(model: type[Node]) -> set[type[Node]]:
    found: set[type[Node]] = set()
    waiting: list[t.Any] = [model]
    while waiting:
        one = waiting.pop()
        if isinstance(one, type) and issubclass(one, Node):
            if one not in found:
                found.add(one)
                waiting += [info.annotation for info in one.model_fields.values()]
        else:
            waiting += t.get_args(one)
    return found


def _holds_text(annotation: t.Any) -> bool:
    if annotation is str or annotation is t.Any:
        return True
    if t.get_origin(annotation) is t.Literal:
        return False
    return any(map(_holds_text, t.get_args(annotation)))
