"""An engine that lists the images that a workflow needs, one a line."""

from __future__ import annotations

from collections.abc import Iterator

from couler.backends.base import (
    NATIVE,
    Artifact,
    ArtifactFile,
    Capabilities,
    Ignored,
    Target,
    Unsupported,
)
from couler.ir.diagnostics import Diagnostic
from couler.ir.features import Feature
from couler.ir.walk import all_steps
from couler.ir.workflow import Container, Script, Workflow


class ImageListBackend:
    """Lists images; has nothing to do with requests, and takes no jobs."""

    name = "image-list"
    profiles = ("image-list",)
    formats = ("text",)

    def capabilities(self, target: Target) -> Capabilities:
        """Return what the engine can do; every feature has an entry."""
        return {
            **dict.fromkeys(Feature, NATIVE),
            Feature.HTTP: Ignored(why="a request needs no image"),
            Feature.JOB: Unsupported(reason="the images of a job are in its manifest"),
        }

    def check(self, workflow: Workflow, target: Target) -> Iterator[Diagnostic]:
        """Refuse nothing beyond features."""
        yield from ()

    def compile(self, workflow: Workflow, target: Target, *, format: str = "text") -> Artifact:
        """Return the list of images, each once, sorted."""
        images = {
            step.action.image
            for step in all_steps(workflow)
            if isinstance(step.action, Container | Script)
        }
        text = "".join(f"{image}\n" for image in sorted(images))
        return Artifact(self.name, (ArtifactFile("images.txt", text),))
