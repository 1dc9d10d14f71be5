"""Workflows in WfFormat 1.5, the JSON form of WfCommons: what ran, how long, with which files."""
# https://wfcommons.org/format

from __future__ import annotations

import gzip
import json
import operator
import typing as t
from collections.abc import Sequence
from pathlib import Path

import pydantic
from pydantic.alias_generators import to_camel

from couler.caching.graph import ArtifactGraph
from couler.errors import SerializationError


class _Camel(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(alias_generator=to_camel)


class _Task(_Camel):
    id: str
    parents: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    input_files: tuple[str, ...] = ()
    output_files: tuple[str, ...] = ()


_Amount = t.Annotated[float, pydantic.Field(ge=0, allow_inf_nan=False)]


class _File(_Camel):
    id: str
    size_in_bytes: _Amount


class _Ran(_Camel):
    id: str
    runtime_in_seconds: pydantic.FiniteFloat
    core_count: _Amount | None = None


class _Specification(_Camel):
    tasks: tuple[_Task, ...]
    files: tuple[_File, ...] = ()


class _Execution(_Camel):
    tasks: tuple[_Ran, ...]


class _Workflow(_Camel):
    specification: _Specification
    execution: _Execution


class _Document(_Camel):
    workflow: _Workflow


def is_wfformat(tree: object) -> bool:
    """Return whether a JSON tree is meant to be WfFormat, be it well formed or not."""
    return isinstance(tree, dict) and "workflow" in tree


def read_wfformat(path: Path) -> ArtifactGraph:
    """Return the tasks and files of a WfFormat file, plain or packed with gzip (`.gz`)."""
    raw = path.read_bytes()
    try:
        tree = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    except (ValueError, RecursionError, EOFError, gzip.BadGzipFile) as error:
        raise SerializationError(f"{path}: no workflow in WfFormat: {error}") from error
    return parse_wfformat(tree, file=str(path))


def parse_wfformat(tree: object, *, file: str = "<tree>") -> ArtifactGraph:
    """Return the tasks and files of a WfFormat document."""
    try:
        document = _Document.model_validate(tree)
        return _graph(document.workflow.specification, document.workflow.execution)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the document"
        more = f", and {error.error_count() - 1} more" if error.error_count() > 1 else ""
        problem = f"{place}: {first['msg']}{more}"
        raise SerializationError(f"{file}: no workflow in WfFormat 1.5: {problem}") from error
    except ValueError as error:
        raise SerializationError(f"{file}: no workflow in WfFormat 1.5: {error}") from error


def _graph(specified: _Specification, execution: _Execution) -> ArtifactGraph:
    ran = {task.id: task for task in execution.tasks}
    producer: dict[str, int | None] = {}
    readers: dict[str, dict[int, None]] = {}
    for index, task in enumerate(specified.tasks):
        if task.id not in ran:
            raise ValueError(f"workflow.execution.tasks does not say how {task.id!r} ran")
        for file in dict.fromkeys(task.output_files):
            if producer.setdefault(file, index) != index:
                raise ValueError(f"two tasks write {file!r}")
        for file in task.input_files:
            readers.setdefault(file, {})[index] = None
    files = tuple(dict.fromkeys((*producer, *readers)))
    sizes = {file.id: int(file.size_in_bytes) for file in specified.files}
    seconds = tuple(max(ran[task.id].runtime_in_seconds, 0.0) for task in specified.tasks)
    cores = (ran[task.id].core_count or 1.0 for task in specified.tasks)
    return ArtifactGraph(
        jobs=tuple(task.id for task in specified.tasks),
        artifacts=files,
        producer=tuple(producer.get(file) for file in files),
        readers=tuple(tuple(readers.get(file, ())) for file in files),
        size_bytes=tuple(sizes.get(file, 0) for file in files),
        seconds=seconds,
        resources=tuple(map(operator.mul, seconds, cores)),
        waits=_parents(specified.tasks),
    )


def _parents(tasks: Sequence[_Task]) -> tuple[tuple[int, ...], ...]:
    number = {task.id: index for index, task in enumerate(tasks)}
    if len(number) != len(tasks):
        raise ValueError("workflow.specification.tasks has two tasks of one id")
    before: list[set[int]] = [set() for _ in tasks]
    for index, task in enumerate(tasks):
        unknown = next((one for one in (*task.parents, *task.children) if one not in number), None)
        if unknown is not None:
            raise ValueError(f"{task.id!r} names {unknown!r}, which is no task")
        # Some files give an edge at one of its ends only.
        before[index].update(number[parent] for parent in task.parents)
        for child in task.children:
            before[number[child]].add(index)
    return tuple(tuple(sorted(befores)) for befores in before)
