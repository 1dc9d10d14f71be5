"""Where generated workflows go: a file, or a folder with all that is made of one."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import typing as t
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import click

from couler.backends.base import Target
from couler.errors import ConfigurationError
from couler.stages import compile, plan, show

if t.TYPE_CHECKING:
    from couler.generation import Generated


@dataclass(frozen=True, slots=True)
class Destination:
    """A file or a folder that is not there yet."""

    path: Path
    is_folder: bool
    replace: bool = False

    @classmethod
    def of(cls, output: str | None, mode: str, *, replace: bool) -> Destination | None:
        """Return what `-o` names; None for standard output."""
        if output is None or output == "-":
            return None
        path = Path(output)
        suffix = ".json" if mode == "schema" else ".py"
        if path.suffix not in ("", suffix):
            raise click.UsageError(
                f"-o {output}: mode {mode} gives a file {suffix}, or a folder without an ending"
            )
        is_folder = path.suffix != suffix
        if path.is_dir() and not is_folder:
            raise click.UsageError(f"-o {output} is a folder")
        if path.is_symlink() or path.resolve() == Path.cwd():
            raise click.UsageError(f"-o {output}: name a new folder or file")
        taken = path.exists() and not (path.is_dir() and not any(path.iterdir()))
        if taken and (is_folder or not replace):
            hint = "name another one" if is_folder else "name another one, or say --replace"
            raise click.UsageError(f"-o {output} is there already: {hint}")
        if not path.absolute().parent.is_dir():
            raise click.UsageError(f"-o {output}: there is no folder {path.parent}")
        try:  # before anything is paid
            with _beside(path):
                pass
        except OSError as error:
            raise click.UsageError(f"-o {output} cannot be written: {error.strerror}") from error
        return cls(path, is_folder, replace)

    def write(self, files: Mapping[str, str]) -> Sequence[Path]:
        """Write all files or none, and return their paths."""
        try:
            return self._write_folder(files) if self.is_folder else self._write_file(files)
        except OSError as error:
            raise ConfigurationError(
                f"-o {self.path}: {error.filename or self.path} cannot be written: "
                f"{error.strerror}. Nothing was written"
            ) from error

    def _write_file(self, files: Mapping[str, str]) -> Sequence[Path]:
        ((_, text),) = files.items()
        with _beside(self.path) as folder:
            made = folder / self.path.name
            made.write_text(text, encoding="utf-8")
            if self.replace:
                made.replace(self.path)
            else:
                _place(made, self.path)
        return (self.path,)

    def _write_folder(self, files: Mapping[str, str]) -> Sequence[Path]:
        with _beside(self.path) as folder:
            whole = folder / "whole"
            for name, text in files.items():
                path = whole / PurePosixPath(name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            if self.path.is_dir():  # an empty one, which a rename may not replace everywhere
                self.path.rmdir()
            whole.rename(self.path)
        return tuple(self.path / name for name in files)


def _place(made: Path, path: Path) -> None:
    """Put a file where nothing is; if something is there by now, that stays."""
    try:
        os.link(made, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        with path.open("xb") as file:
            file.write(made.read_bytes())


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Give a folder on the same file system, for what becomes the path at once."""
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.absolute().parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def files_of(
    made: Generated, destination: Destination, targets: Mapping[str, Target]
) -> Mapping[str, str]:
    """Return what is written of a verified workflow, by relative names."""
    from couler.ir.serialize import write_json

    assert made.workflow is not None, "only what is verified is written"
    workflow = write_json(made.workflow)
    if not destination.is_folder:
        return {destination.path.name: made.program or workflow}
    files = {} if made.program is None else {"workflow.py": made.program}
    files["workflow.json"] = workflow
    files["workflow.svg"] = show(made.workflow, "svg") + "\n"
    for engine, target in targets.items():
        planned = plan(made.workflow, engine=engine, target=target)
        files[f"{engine}/plan.txt"] = planned.to_text() + "\n"
        for file in compile(planned, engine).files:
            files[f"{engine}/{file.name}"] = file.text
    if not targets:
        files["plan.txt"] = plan(made.workflow).to_text() + "\n"
    return files
