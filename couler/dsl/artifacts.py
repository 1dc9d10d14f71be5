"""What containers and scripts give out: values and files at declared paths."""

from __future__ import annotations

import os
import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from couler.dsl._context import ProgramError
from couler.dsl.located import NAMELESS, located_output
from couler.dsl.locations import LocatedFile
from couler.dsl.scope import Draft, Returns, free_among
from couler.dsl.types import (
    PRINTED,
    Directory,
    File,
    TypeSpec,
    UnsupportedTypeError,
    spec_at,
    spec_of,
)
from couler.ir.values import ValueType
from couler.ir.workflow import STDOUT, Output

if t.TYPE_CHECKING:
    from couler.dsl.scope import Scope


@dataclass(frozen=True, slots=True)
class Artifact:
    """A value or file that a process writes at a path.

    Attributes
    ----------
    path
        Where the process writes it; relative paths start at `COULER_WORK`.
    is_global
        Kept for programs of the ancestor; every step can read every output.
    type
        `str`, `int`, ... for a value; `file` or `directory` for what is kept as it is.
    name
        Name of the output; by default that of the file.
    default
        The value, where the process does not write the file.
    """

    path: str
    is_global: bool = False
    type: ValueType = "str"
    name: str | None = None
    default: object = None


class LocalArtifact(Artifact):
    """A file that a process writes at a path."""

    __slots__ = ()


def create_parameter_artifact(
    path: str,
    is_global: bool = False,
    *,
    type: object = str,
    name: str | None = None,
    default: object = None,
) -> Artifact:
    """Declare a value that a process writes to a file.

    Parameters
    ----------
    path
        Where the process writes it.
    is_global
        Kept for programs of the ancestor; every step can read every output.
    type
        Python type of the value.
    name
        Name of the output; by default that of the file.
    default
        The value, where the process does not write the file.

    Raises
    ------
    DefinitionError
        Values of the type cannot travel between steps.
    """
    try:
        wire = spec_of(type).wire
    except UnsupportedTypeError as error:
        raise ProgramError("CLR108", f"create_parameter_artifact: {error}") from error
    return Artifact(path, is_global, wire, name, default)


def create_local_artifact(path: str, is_global: bool = False) -> LocalArtifact:
    """Declare a file that a process writes, and that other steps can read as a file.

    Parameters
    ----------
    path
        Where the process writes it; relative paths start at `COULER_WORK`.
    is_global
        Kept for programs of the ancestor; every step can read every output.
    """
    return LocalArtifact(path, is_global, "file")


def read_outputs(scope: Scope, output: object, step: str) -> Returns:
    """Return what a process gives out by its argument `output`; report what is wrong with it."""
    builder = scope.builder
    if isinstance(output, Mapping):
        entries = [(str(name), entry) for name, entry in output.items()]
    else:
        given = output if isinstance(output, list | tuple) else [output]
        entries = [(_name_of(entry), entry) for entry in given]
    outputs: list[Output] = []
    specs: dict[str, TypeSpec] = {}
    for base, entry in entries:
        if isinstance(entry, LocatedFile):
            located = located_output(scope, entry, free_among(specs, base), step)
            if located is not None:
                outputs.append(located)
                specs[located.name] = spec_at(located.type, located.path)
            continue
        artifact = _as_artifact(entry)
        if artifact is None:
            builder.report(
                "CLR105",
                f'step "{step}": output: {entry!r:.60} is no artifact; write '
                "couler.create_parameter_artifact(path), couler.File(path), a location such as "
                "couler.S3Artifact(path, ...) or a path",
                step=step,
            )
            continue
        name = free_among(specs, base)
        spec = PRINTED if artifact.type == "str" else spec_at(artifact.type, artifact.path)
        outputs.append(
            Output(name=name, type=artifact.type, path=artifact.path, default=artifact.default)
        )
        specs[name] = spec
    main = outputs[0].name if outputs else STDOUT
    specs.setdefault(STDOUT, PRINTED)
    is_list = not isinstance(output, Mapping) and len(outputs) > 1
    return Returns(tuple(outputs), specs, main=main, is_list=is_list)


def remember_places(draft: Draft, output: object) -> None:
    """Remember which step puts a file where: another that takes in the same reads it from there."""
    if isinstance(output, Mapping):
        entries = list(output.values())
    else:
        entries = list(output) if isinstance(output, list | tuple) else [output]
    declared = [one for one in draft.outputs if one.at is not None]
    located = [entry for entry in entries if isinstance(entry, LocatedFile)]
    if len(declared) == len(located):  # else one of them was reported
        for entry, made in zip(located, declared, strict=True):
            draft.scope.builder.placed[id(entry)] = (entry, draft, made.name)


def _as_artifact(entry: object) -> Artifact | None:
    if isinstance(entry, Artifact):
        return entry
    if isinstance(entry, Directory):
        return Artifact(entry.path, type="directory")
    if isinstance(entry, File):
        return Artifact(entry.path, type="file")
    if isinstance(entry, str):
        return Artifact(entry)
    return None


def _name_of(entry: object) -> str:
    """Return a name for an output: its own, or that of its file without the ending."""
    if isinstance(entry, Artifact | LocatedFile) and entry.name is not None:
        return entry.name
    path = str(entry.path or "") if isinstance(entry, Artifact | LocatedFile) else str(entry)
    return name_of_path(path)


def name_of_path(path: str) -> str:
    """Return what an output is called after its file."""
    stem = os.path.basename(path.rstrip("/")).partition(".")[0]
    name = re.sub(r"[^-_a-zA-Z0-9]+", "_", stem).strip("_")
    return name if re.match("[a-zA-Z_]", name) else f"{NAMELESS}_{name}".rstrip("_")
