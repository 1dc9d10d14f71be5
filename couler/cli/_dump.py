"""The workflow between the passes, as numbered files of a folder."""

from __future__ import annotations

import re
from pathlib import Path

from couler.errors import ConfigurationError
from couler.ir.serialize import write_json
from couler.ir.workflow import Workflow
from couler.optimizers.log import PassRecord

_OURS = re.compile(r"\d{2,}-[\w.-]+\.json")


class Dump:
    """Writes the workflow after each pass; a pipeline calls it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: list[str] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._refuse(error) from error

    @property
    def count(self) -> int:
        """How many files were written."""
        return len(self._written)

    def __call__(self, record: PassRecord) -> None:
        """Write what a pass made; before the first one, what it was given."""
        if not self._written:
            self._write("source", record.before)
        self._write(record.name, record.after)

    def finish(self, source: Workflow) -> None:
        """Write the workflow where no pass ran."""
        if not self._written:
            self._write("source", source)

    def older_files(self) -> list[str]:
        """Return the names of files like these that were there before."""
        names = (path.name for path in self._folder.iterdir() if _OURS.fullmatch(path.name))
        return sorted(set(names) - set(self._written))

    def _write(self, name: str, workflow: Workflow) -> None:
        file = f"{len(self._written):02}-{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.json"
        try:
            (self._folder / file).write_text(write_json(workflow) + "\n", encoding="utf-8")
        except OSError as error:
            raise self._refuse(error) from error
        self._written.append(file)

    def _refuse(self, error: OSError) -> ConfigurationError:
        return ConfigurationError(
            f"--dump {self._folder}: {error.filename or self._folder} cannot be written: "
            f"{error.strerror}. Name a folder that may be written"
        )
