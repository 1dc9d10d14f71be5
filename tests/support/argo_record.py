"""Keeping every manifest that the tests make, so that Argo can judge them all afterwards.

`pytest --manifests FOLDER` empties the folder and then writes there, each once, the manifests that
the backend makes in the tests' own process, and beside them which test made them. A test whose
manifests Argo must refuse is marked `argo_refuses(reason)`. `tests.oracle.judge` judges them.
"""

from __future__ import annotations

import hashlib
import json
import typing as t
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.base import Artifact, Target
from couler.ir.workflow import Workflow

MARKER = "argo_refuses"


class Record(t.NamedTuple):
    """A manifest that a test made."""

    file: Path
    test: str
    refused: str | None
    """Why Argo must refuse it."""


class Recorder:
    """Writes manifests into a folder; several processes can write into one."""

    def __init__(self, folder: Path, *, process: str) -> None:
        self.item: pytest.Item | None = None
        """The test that runs."""
        self._folder = folder.absolute()
        self._index = self._folder / f"{process}.jsonl"
        self._known: set[tuple[str, bool]] = set()

    @contextmanager
    def installed(self) -> Iterator[Recorder]:
        """Take in what the backend makes in this process."""
        self._folder.mkdir(parents=True, exist_ok=True)
        compile = ArgoBackend.compile

        def recording(
            backend: ArgoBackend, workflow: Workflow, target: Target, *, format: str = "yaml"
        ) -> Artifact:
            artifact = compile(backend, workflow, target, format=format)
            self._add(artifact)
            return artifact

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ArgoBackend, "compile", recording)
            yield self

    def _add(self, artifact: Artifact) -> None:
        if self.item is None:
            return
        marker = self.item.get_closest_marker(MARKER)
        refused = None if marker is None else str(marker.kwargs["reason"])
        for made in artifact.files:
            name = hashlib.sha256(made.text.encode()).hexdigest()[:20] + Path(made.name).suffix
            if (name, refused is None) in self._known:
                continue
            self._known.add((name, refused is None))
            self._folder.joinpath(name).write_text(made.text, encoding="utf-8")
            line = {"file": name, "test": self.item.nodeid, "refused": refused}
            with self._index.open("a", encoding="utf-8") as index:
                index.write(json.dumps(line) + "\n")


def records(folders: Iterable[Path]) -> Iterator[Record]:
    """Yield what was kept in some folders, each manifest once for each verdict it must get."""
    seen: set[tuple[str, bool]] = set()
    for folder in folders:
        for index in sorted(folder.glob("*.jsonl")):
            for line in index.read_text(encoding="utf-8").splitlines():
                found = json.loads(line)
                key = (found["file"], found["refused"] is None)
                if key not in seen:
                    seen.add(key)
                    yield Record(folder / found["file"], found["test"], found["refused"])
