"""Actions that only engines of a cluster have: several containers, templates, plugins."""

from __future__ import annotations

import typing as t

from pydantic import Field as ModelField
from pydantic import PositiveInt

from couler.ir.base import JsonMap, Node, Variant
from couler.ir.pods import PodContainer
from couler.ir.policies import Positive

MAIN = "main"
"""The container of a set whose files and standard output are those of the step."""


class SetRetry(Node):
    """Run a container of a set again after it has failed, in the same pod."""

    limit: PositiveInt
    wait_s: Positive | None = None


class ContainerSet(Variant):
    """Run several containers in one pod, each when those that it depends on have ended well.

    They share the work folder and the step's mounts. Inputs, outputs and the standard output of
    the step are those of the container `main`.
    """

    kind: t.Literal["container_set"] = "container_set"
    containers: t.Annotated[tuple[PodContainer, ...], ModelField(min_length=1)]
    retry: SetRetry | None = None


class TemplateCall(Variant):
    """Run a template that exists on the engine, in a collection of templates.

    The step's inputs are its arguments; its outputs are those that the template is known to give.
    """

    kind: t.Literal["template_call"] = "template_call"
    collection: str
    template: str
    cluster_wide: bool = False
    """The collection is one of all namespaces."""


class Plugin(Variant):
    """Have a plugin of the engine do something; it finds the step's inputs by their names."""

    kind: t.Literal["plugin"] = "plugin"
    name: str
    body: JsonMap
    """What the plugin is told."""
