"""A project of three modules, copied and changed: its steps run again by what they use."""

from __future__ import annotations

import shutil
import sys
import typing as t
from collections.abc import Mapping
from pathlib import Path

from couler.backends.base import Backend, Target
from couler.ir.workflow import Workflow
from couler.locations.code import upload_code
from couler.stages import plan
from couler.stages.checks import check_engine
from couler.stages.programs import load_program
from tests.fakes.kubernetes.container import PATH
from tests.fakes.kubernetes.images import Image

SOURCE = Path(__file__).parents[1] / "programs" / "project"
OUTPUTS = {"words": [["good"], ["great", "great", "shop"], ["rest"]], "score": 1.52}
SECRETS = {
    f"COULER_SECRET_{entry}": "test"
    for entry in ("artifacts_key_value", "artifacts_secret_value", "store_access", "store_secret")
}
"""The entries of secrets by which archives of code are uploaded."""
CHANGES = [
    ("scoring.py", '"great": 3.0', '"great": 4.0', {"rate", "summary"}, 1.65),
    ("shop/spelling.py", "word.title()", "word.upper()", set(), 1.65),
    ("shop/spelling.py", '".,!"', '".,!?"', {"clean"}, 1.65),
    ("shop/data/stop_words.txt", "a\n", "a\nrest\n", {"clean", "rate"}, 1.65),
]
"""File, text, what takes its place, the steps that run again, and the score of the run."""


class Project:
    """A copy of the project in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        shutil.copytree(SOURCE, self.folder, ignore=shutil.ignore_patterns("__pycache__"))

    def change(self, file: str, text: str, new: str) -> None:
        """Replace a text of a file."""
        path = self.folder / file
        before = path.read_text()
        assert text in before
        path.write_text(before.replace(text, new))

    def compiled(
        self, backend: Backend, storage: Mapping[str, object] | None = None, **options: t.Any
    ) -> tuple[Workflow, str]:
        """Return the workflow as it runs, and the file of an engine; its code is uploaded."""
        for name in [one for one in sys.modules if one.partition(".")[0] in ("shop", "scoring")]:
            del sys.modules[name]
        loaded = load_program(str(self.folder / "flow.py"))
        assert [one for one in loaded.diagnostics if one.severity == "error"] == []
        target = Target(options=options, storages={} if storage is None else {"s3": storage})
        planned = plan(loaded, engine=backend.name, target=target)
        check_engine(planned.workflow, backend, target)
        upload_code(planned.workflow, SECRETS)
        return planned.workflow, backend.compile(planned.workflow, target).to_text()

    def python(self, folder: Path, project: object) -> Path:
        """A Python that has the project, which it sees somewhere."""
        folder.mkdir()
        python = folder / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH={project} exec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
        return python

    def image(self, folder: Path) -> Image:
        """An image whose Python has the project."""
        self.python(folder, "/opt/project")
        mounts = ((folder, "/opt/bin"), (self.folder, "/opt/project"))
        return Image(path=f"/opt/bin:{PATH}", mounts=mounts)
