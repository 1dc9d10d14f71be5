"""Reading FILE: a program that defines a workflow, or a workflow as JSON or YAML."""

from __future__ import annotations

import re
import sys
import typing as t
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from couler.errors import SerializationError
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import SourceRef
from couler.stages.programs import Loaded, LoadError, load_program

NOT_READABLE = "CLR005"

_PROGRAM_AND_NAME = re.compile(r"(?P<path>.+\.py):(?P<name>[^:/\\]+)")


class Source(t.NamedTuple):
    """A FILE as the user wrote it: a path and, for a program, the name of a workflow."""

    path: str
    name: str | None = None

    @property
    def written(self) -> str:
        """The FILE as commands take it."""
        return self.path if self.name is None else f"{self.path}:{self.name}"

    def __str__(self) -> str:
        return "standard input" if self.path == "-" else self.path


class FileType(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.2
    """The argument FILE: `path.py[:name]`, `path.json`, `path.yaml` or `-`."""

    name = "file"

    def convert(
        self, value: t.Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Source:
        """Check that there is such a file."""
        if isinstance(value, Source):
            return value
        match = _PROGRAM_AND_NAME.fullmatch(value)
        source = Source(match["path"], match["name"]) if match else Source(value)
        path = Path(source.path)
        if source.path == "-":
            return source
        if not path.exists():
            self.fail(f"there is no file {path}", param, ctx)
        if path.is_dir():
            self.fail(f"{path} is a folder, and FILE is a program or a workflow", param, ctx)
        if path.suffix not in (".py", ".json", ".yaml", ".yml"):
            self.fail(f"{path} is neither .py nor .json nor .yaml", param, ctx)
        return source

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Leave the completion of file names to the shell."""
        return [CompletionItem(incomplete, type="file")]


def load(source: Source) -> Loaded:
    """Read the workflow of a FILE."""
    path = Path(source.path)
    if path.suffix == ".py":
        return load_program(source.path, source.name)
    from couler.ir.serialize import read_json, read_yaml

    name = "<stdin>" if source.path == "-" else source.path
    try:
        if source.path == "-":
            text = sys.stdin.buffer.read().decode("utf-8")
        else:
            text = path.read_text(encoding="utf-8")
        if path.suffix == ".json" or text.lstrip().startswith("{"):
            return Loaded(read_json(text, file=name))
        return Loaded(read_yaml(text, file=name))
    except (SerializationError, UnicodeDecodeError) as error:
        hint = ". From standard input come JSON and YAML; a program is a file" * (path.name == "-")
        raise unreadable(SerializationError(f"{error}{hint}"), name) from error


def unreadable(error: Exception, file: str) -> LoadError:
    """Return the refusal of a file by an error, at the place that its message begins with."""
    match = re.fullmatch(rf"{re.escape(file)}(?::(\d+))?: (.*)", str(error), re.DOTALL)
    line, message = match.groups() if match else (None, str(error))
    source = SourceRef(file=file, line=int(line or 1))
    return LoadError(Diagnostic(NOT_READABLE, message, source=source))
