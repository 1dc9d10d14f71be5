"""How much of Argo's API the IR reaches, and the page docs/argo-coverage.md that says so.

A field is typed if a manifest states it that was compiled from IR without any `engine=` override.
What is declared about the fields, in argo_fields/*.toml by definition, is checked against that:

- `PATH, PATH; NOTE`: the fields of the IR that it comes from, each a class of the IR and the way
  from there (`Step.retry.limit`), or a setting of the target (`Target.helper_image`);
- `engine: WHY`: only by an override, and some workflow has one that states it;
- `never: WHY`: the controller would take it, but the IR has something else for it;
- `idle: WHY`: the controller refuses it or does nothing with it; counted apart;
- `status: WHY`, `deprecated: WHY`: not counted.

`python -m tests.support.argo_coverage` writes the page and prints what is not reached yet.
"""

from __future__ import annotations

import functools
import importlib
import json
import pkgutil
import sys
import tomllib
import typing as t
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from couler import ir, stages
from couler.backends.argo.manifest import KINDS, ManifestOptions
from couler.backends.base import Target
from couler.errors import InvalidWorkflowError, UnsupportedFeatureError
from couler.ir.base import FrozenDict, Node
from couler.ir.workflow import Schedule
from couler.stages.checks import as_ir
from couler.stages.programs import load_program
from tests.corpus import cases
from tests.support import argo_api
from tests.support.argo_samples import ARGO_SAMPLES, ArgoSample
from tests.support.feature_samples import FEATURE_SAMPLES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "argo-coverage.md"
DECLARED = Path(__file__).parent / "argo_fields"

Field: t.TypeAlias = argo_api.Field
"""A definition and a field of it."""

NOT_COUNTED = ("deprecated", "status")
REASONS = (*NOT_COUNTED, "engine", "idle", "never")


def samples() -> Iterator[tuple[str, ArgoSample]]:
    """Yield all workflows that are compiled for Argo here, with names."""
    for case in cases():
        yield f"corpus/{case.name}", ArgoSample(case.workflow)
    for feature, workflow in FEATURE_SAMPLES.items():
        yield f"feature/{feature.value}", ArgoSample(workflow)
    for name, sample in ARGO_SAMPLES.items():
        yield f"sample/{name}", sample
    for path in sorted([*ROOT.glob("examples/*/*.py"), *ROOT.glob("tests/programs/listing_*.py")]):
        if path.parent.name in (path.stem, "programs"):
            workflow, _found = as_ir(load_program(str(path)))
            yield f"program/{path.stem}", ArgoSample(workflow)


@functools.cache
def emissions(*, overrides: bool = False) -> tuple[tuple[str, dict[str, t.Any]], ...]:
    """Return the manifests of all workflows in all kinds, each with the name of its workflow.

    With overrides only those of workflows that have some. Those of the corpus and of the features
    that Argo does not do have none.
    """
    return tuple(_emissions(overrides=overrides))


def _emissions(*, overrides: bool) -> Iterator[tuple[str, dict[str, t.Any]]]:
    for name, (source, options) in samples():
        workflow = without_overrides(source)
        if overrides:
            if workflow == source:
                continue
            workflow = source
        if not any(parameter.required for parameter in workflow.parameters):
            workflow = workflow.model_copy(
                update={"schedule": workflow.schedule or Schedule(cron=("0 3 * * *",))}
            )
        for kind in KINDS:
            if kind == "CronWorkflow" and workflow.schedule is None:
                continue
            if kind == "WorkflowTemplate" and workflow.stored is not None:
                continue
            target = Target(options={**options, "kind": kind})
            try:
                artifact = stages.compile(workflow, "argo", target=target, format="json")
            except (InvalidWorkflowError, UnsupportedFeatureError):
                if name.startswith(("corpus/", "feature/")):
                    break
                raise
            found = json.loads(artifact.to_text())
            if found["kind"] != "List":  # what starts a run of a part states fields for nobody
                yield name, found


def without_overrides(node: t.Any) -> t.Any:
    """Return a part of the IR without content that is meant for one engine alone."""
    if isinstance(node, tuple):
        return tuple(map(without_overrides, node))
    if not isinstance(node, Node):
        return node
    fields = {name: without_overrides(value) for name, value in node if name != "engine"}
    if "engine" in type(node).model_fields:
        fields["engine"] = FrozenDict()
    return node.model_copy(update=fields)


@functools.cache
def typed() -> frozenset[Field]:
    """Return all fields that are stated without overrides."""
    return _stated(overrides=False)


def _stated(*, overrides: bool) -> frozenset[Field]:
    found: set[Field] = set()
    for _name, tree in emissions(overrides=overrides):
        found |= argo_api.emitted(tree)
    return frozenset(found)


@functools.cache
def overridden() -> frozenset[Field]:
    """Return all fields that only an override states."""
    return _stated(overrides=True) - typed()


def declared() -> dict[Field, str]:
    """Return what is declared of each field."""
    found: dict[Field, str] = {}
    for path in sorted(DECLARED.glob("*.toml")):
        for definition, fields in tomllib.loads(path.read_text(encoding="utf-8")).items():
            for name, text in fields.items():
                assert (definition, name) not in found, f"{path.name}: {definition}.{name} twice"
                found[definition, name] = text
    return found


def reason_of(text: str) -> str | None:
    """Return the word for why a field has no path, or None if it has one."""
    word = text.partition(":")[0]
    return word if word in REASONS else None


def paths_of(text: str) -> list[str]:
    """Return the paths of what is declared."""
    return [path.strip() for path in text.partition(";")[0].split(",")]


def resolves(path: str) -> bool:
    """Return whether the IR has a field at a path."""
    root, *names = path.split(".")
    if root == "Target":
        return len(names) == 1 and names[0] in ManifestOptions._fields
    nodes = [_nodes()[root]] if root in _nodes() else []
    for index, name in enumerate(names):
        annotations = [
            node.model_fields[name].annotation for node in nodes if name in node.model_fields
        ]
        if not annotations:
            return False
        nodes = [inner for annotation in annotations for inner in _inner(annotation)]
        if not nodes and index < len(names) - 1:
            return False
    return bool(names)


@functools.cache
def _nodes() -> Mapping[str, type[Node]]:
    for module in pkgutil.walk_packages(ir.__path__, "couler.ir."):
        importlib.import_module(module.name)
    found: dict[str, type[Node]] = {}
    waiting: list[type[Node]] = [Node]
    while waiting:
        node = waiting.pop()
        waiting += node.__subclasses__()
        if node.__module__.startswith("couler.ir."):
            found[node.__name__] = node
    return found


def _inner(annotation: t.Any) -> Iterator[type[Node]]:
    if isinstance(annotation, type) and issubclass(annotation, Node):
        yield annotation
    for argument in t.get_args(annotation):
        yield from _inner(argument)


class Count(t.NamedTuple):
    """How many fields are reached."""

    typed: int
    counted: int
    all: int
    idle: int
    """Fields with which Argo does nothing, or which it refuses; they are counted."""

    @property
    def percent(self) -> float:
        """Typed fields of those that are counted."""
        return 100 * self.typed / self.counted

    @property
    def percent_with_effect(self) -> float:
        """Typed fields of those that are counted and with which Argo does something."""
        return 100 * self.typed / (self.counted - self.idle)


def count(kind: str) -> Count:
    """Count the fields that the spec of a kind reaches."""
    fields, said = argo_api.fields(kind), declared()
    reasons = {field: reason_of(said.get(field, "")) for field in fields}
    left_out = {field for field, reason in reasons.items() if reason in NOT_COUNTED}
    idle = sum(reason == "idle" for reason in reasons.values())
    return Count(len(fields & typed()), len(fields - left_out), len(fields), idle)


def missing() -> list[Field]:
    """Return the fields that nothing states and of which nothing is declared."""
    return sorted(argo_api.fields("CronWorkflow") - typed() - declared().keys())


_HEAD = """\
# Coverage of Argo's API

Which fields of Argo 4.1 a workflow can state, of all those that a `WorkflowSpec` or a
`CronWorkflowSpec` reaches. Fields of Kubernetes' own objects (containers, volumes, affinity) are
not listed.

- **typed**: a part of the workflow, named in the last column, becomes this field. Each is found in
  a manifest that was compiled without any override.
- **override**: content of `engine={"argo": ...}`, see [Argo Workflows](argo.md), which can state
  any field of a step's template and task and of the workflow's spec.
- **never**: the workflow has something else for it.
- **without effect**: Argo 4.0 refuses the field in this place, or does nothing with it.
- **status**, **deprecated**: written by Argo itself, or kept by it for old manifests. Not counted.

<!-- Below is what `make argo-coverage` writes; do not edit it. -->

"""


def page() -> str:
    """Return the text of the page."""
    api, said = argo_api.definitions("CronWorkflow"), declared()
    parts = [
        _HEAD,
        "| Reached from | Definitions | Fields | Counted | Typed | | With an effect | |\n",
    ]
    parts.append("| --- | --: | --: | --: | --: | --: | --: | --: |\n")
    for kind in ("Workflow", "CronWorkflow"):
        found = count(kind)
        parts.append(
            f"| `{argo_api.SPECS[kind]}` | {len(argo_api.definitions(kind))} | {found.all} "
            f"| {found.counted} | {found.typed} | {found.percent:.1f} % "
            f"| {found.counted - found.idle} | {found.percent_with_effect:.1f} % |\n"
        )
    for name in sorted(api):
        if not api[name]:
            continue
        parts.append(f"\n## {name}\n\n| Field | | From |\n| --- | --- | --- |\n")
        parts += (
            f"| `{field}` | {_row(said.get((name, field)))} |\n" for field in sorted(api[name])
        )
    return "".join(parts)


def _row(text: str | None) -> str:
    if text is None:
        return "not yet | "
    if (word := reason_of(text)) is not None:
        shown = {"engine": "override", "idle": "without effect"}.get(word, word)
        return f"{shown} | {text.partition(':')[2].strip()}"
    paths = ", ".join(f"`{path}`" for path in paths_of(text))
    note = text.partition(";")[2].strip()
    return f"typed | {paths}{note and '; ' + note}"


def _report() -> Iterator[str]:
    by_definition = Counter(name for name, _ in missing())
    for name in by_definition:
        yield f"{name}: {', '.join(field for own, field in missing() if own == name)}"
    for name, field in sorted(typed() - declared().keys()):
        yield f"{name}.{field} is emitted: say from which IR in tests/support/argo_fields"
    for kind in ("Workflow", "CronWorkflow"):
        found = count(kind)
        yield (
            f"{argo_api.SPECS[kind]}: {found.typed} of {found.counted} fields are typed, "
            f"{found.percent:.1f} % ({found.all - found.counted} are status or deprecated); "
            f"{found.percent_with_effect:.1f} % of the {found.counted - found.idle} with which "
            "Argo does something"
        )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.writelines(f"{line}\n" for line in _report())
