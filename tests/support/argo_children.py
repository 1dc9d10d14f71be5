"""Manifests by hand whose parts have runs of their own."""

from __future__ import annotations

import typing as t

import yaml

from couler.backends.argo.child_runs import Divided, RunPart, divide
from couler.backends.argo.tags import Tagged
from couler.ir.yaml_writer import dump_all

HEAD = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow"}

SCRIPT = """
  - name: say
    inputs: {parameters: [{name: text}, {name: then, value: ""}]}
    outputs: {parameters: [{name: text, valueFrom: {path: /tmp/said, default: ""}}]}
    container:
      image: any
      command: [sh, -c, 'printf %s "$0" > /tmp/said; echo "$0"; eval "$1"']
      args: ["{{=replace(inputs.parameters.text, '$', '$$')}}", "{{inputs.parameters.then}}"]
"""


def meant(tree: t.Any) -> t.Any:
    """The tree, all of its tags being the backend's."""
    if isinstance(tree, dict):
        return {key: meant(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [meant(value) for value in tree]
    return Tagged(tree) if isinstance(tree, str) else tree


def spec_of(text: str) -> dict[str, t.Any]:
    """The spec that a text is, the template `say` in it."""
    return t.cast("dict[str, t.Any]", meant(yaml.safe_load(text.rstrip() + SCRIPT)))


def divided(spec: dict[str, t.Any], *runs: str, name: str = "by-hand") -> Divided:
    """The spec with runs of their own for the templates `couler-part-RUN`."""
    return divide(spec, [RunPart(f"couler-part-{run}", run) for run in runs], name=name)


def manifest(found: Divided, **metadata: object) -> str:
    """The objects as one file."""
    workflow = {**HEAD, "metadata": metadata or {"generateName": "by-hand-"}, "spec": found.spec}
    return dump_all([*found.definitions, workflow])
