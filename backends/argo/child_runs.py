"""Child runs: parts of a manifest that are moved into Workflows which the first one creates."""

from __future__ import annotations

import hashlib
import json
import re
import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence

from couler.backends.argo.pods import Tree
from couler.backends.argo.tags import Tagged, member, quote, tag, variable
from couler.backends.argo.variables import Name, rename_everywhere
from couler.backends.argo.workflow_api import (
    COMPLETED_LABEL,
    PARENT_LABEL,
    PART_LABEL,
    TEMPLATE_MARK,
)
from couler.ir.yaml_writer import dump

API_VERSION = "argoproj.io/v1alpha1"

ENTRYPOINT = "couler-run"
BODY = "couler-run-body"
STOP = "couler-stop"
"""Template of the exit handler that ends a child."""

ON_EXIT = "couler-on-exit"
"""Exit handler of a workflow that has none of its own."""

PART_STEP = "part"
"""The step of `BODY` that is the part itself."""

ENDED = "couler_ended"
"""Output of the template in the parent, which is there if the steps of the run have ended."""

_LONGEST_NAME = 63
_LONGEST_RUN = 30
_MARK = "couler-value"
_LATE = frozenset({"status", "failures", "duration"})

_OF_PARENT = frozenset(
    {
        "arguments",
        "entrypoint",
        "hooks",  # tell of the run as a whole
        "metrics",
        "onExit",
        "shutdown",
        "suspend",
        "synchronization",  # the parent holds the locks; to ask for them again would wait for ever
        "templates",
        "ttlStrategy",  # children go with their parent, which owns them
        "volumeClaimGC",
        "volumeClaimTemplates",  # the claims are made once, and mounted by their names
        "workflowTemplateRef",
    }
)
"""Fields of a spec that hold for the parent alone; all others hold for its children as well."""


class RunPart(t.NamedTuple):
    """A template that is to have a run of its own."""

    template: str
    run: str
    """Name of the run, within the workflow: of small letters, digits and hyphens (`run_name`)."""
    verdict: tuple[str, str, str] | None = None
    """A template, an input of it, and the output of the part that it takes there, and fails where
    steps of the part have failed."""


class Divided(t.NamedTuple):
    """A spec whose parts have runs of their own."""

    spec: Tree
    """The spec of the parent."""
    definitions: tuple[Tree, ...]
    """The WorkflowTemplates of its children, which must be there before it."""


def divide(
    spec: Tree, parts: Iterable[RunPart], *, name: str, namespace: str | None = None
) -> Divided:
    """Move parts of a spec into WorkflowTemplates."""
    parts = list(parts)
    if not parts:
        return Divided(spec, ())
    templates = {template["name"]: template for template in spec["templates"]}
    definitions = []
    for part in parts:
        child = _Child(spec, templates, part, name=name, namespace=namespace)
        definitions.append(child.definition)
        templates[part.template] = child.caller
    spec = _with_stops(spec, templates, parts)
    roots = [spec["entrypoint"], *hooked(spec)]
    kept = [templates[one] for one in reachable(templates, roots)]
    return Divided({**spec, "templates": kept}, tuple(definitions))


def _with_stops(spec: Tree, templates: dict[str, Tree], parts: Iterable[RunPart]) -> Tree:
    """Return a spec whose exit handler ends children that outlive the pods that wait for them."""
    tasks = [
        {
            "name": f"{STOP}-{part.run}",
            "template": STOP,
            "arguments": {"parameters": [{"name": "name", "value": child_name(part.run)}]},
            # Argo writes this list as JSON in a text of Go.
            "when": tag("workflow.failures contains " + quote(f'\\"{part.template}\\"')),
            "continueOn": {"failed": True, "error": True},  # it was never created, or has gone
        }
        for part in parts
    ]
    on_exit = spec.get("onExit", ON_EXIT)
    before = templates.get(on_exit, {"name": on_exit, "dag": {"failFast": False, "tasks": []}})
    dag = before["dag"]
    templates[on_exit] = {**before, "dag": {**dag, "tasks": [*dag["tasks"], *tasks]}}
    templates[STOP] = {
        "name": STOP,
        "inputs": {"parameters": [{"name": "name"}]},
        "resource": {"action": "patch", "mergeStrategy": "merge", "manifest": Tagged(_STOPPED)},
    }
    return {**spec, "onExit": on_exit}


class _Child:
    """What comes of one part: the definition of its run, and the template that begins it."""

    def __init__(
        self,
        spec: Tree,
        templates: Mapping[str, Tree],
        part: RunPart,
        *,
        name: str,
        namespace: str | None,
    ) -> None:
        self._part = part
        self._template = templates[part.template]
        self._inputs = _names_of(self._template, "inputs")
        self._outputs = _names_of(self._template, "outputs")
        self._given: dict[str, str] = {}
        """What fills the parameters of the child: variables of the parent, by parameter."""
        self._names: dict[Name, str] = {}
        self._taken = {one["name"] for one in (spec.get("arguments") or {}).get("parameters") or ()}
        moved = [
            rename_everywhere(templates[used], self._rename)
            for used in reachable(templates, [part.template, *(part.verdict or ())[:1]])
        ]
        own = self._spec(spec)
        arguments = [
            (self._take(f"in-{given}"), member("inputs.parameters", given))
            for given in self._inputs
        ]
        self._given.update(arguments)
        own["templates"] = [*self._entry([parameter for parameter, _ in arguments]), *moved]
        if self._given:
            own["arguments"] = {"parameters": [{"name": parameter} for parameter in self._given]}
        head: Tree = {"name": _definition_name(name, part.run, own)}
        if namespace is not None:
            head["namespace"] = namespace
        head["labels"] = {PART_LABEL: part.run}
        self.definition: Tree = {
            "apiVersion": API_VERSION,
            "kind": "WorkflowTemplate",
            "metadata": head,
            "spec": own,
        }

    def _rename(self, name: Name) -> Name:
        if name[0] == "parameters" and len(name) > 1:
            self._given[name[1]] = _source(name)
            return name
        if name[0] in _LATE or name[:2] == ("outputs", "parameters"):
            return name  # of a run that has not ended, only its own
        known = self._names.get(name)
        if known is None:
            known = self._names[name] = self._take("-".join(("run", *name)))
            self._given[known] = _source(name)
        return ("parameters", known)

    def _take(self, wanted: str) -> str:
        base = "couler-" + re.sub(r"[^-\w]", "-", wanted)
        name, count = base, 1
        while name in self._taken:
            count += 1
            name = f"{base}-{count}"
        self._taken.add(name)
        return name

    def _spec(self, spec: Tree) -> Tree:
        """The spec of the child, but for its templates and arguments."""
        kept = {key: value for key, value in spec.items() if key not in _OF_PARENT}
        own: Tree = {"entrypoint": ENTRYPOINT, **rename_everywhere(kept, self._rename)}
        claims = spec.get("volumeClaimTemplates") or ()
        if claims:
            [_, parent] = self._rename(("name",))
            mounted = [
                {
                    "name": claim["metadata"]["name"],
                    "persistentVolumeClaim": {
                        # As Argo names the claims of a workflow.
                        "claimName": Tagged(
                            variable(f"workflow.parameters.{parent}")
                            + f"-{claim['metadata']['name']}"
                        )
                    },
                }
                for claim in claims
            ]
            own["volumes"] = [*(own.get("volumes") or ()), *mounted]
        return own

    def _entry(self, given: list[str]) -> list[Tree]:
        """The templates around the part: Argo keeps outputs of a run from steps, not from DAGs."""
        step: Tree = {"name": PART_STEP, "template": self._part.template}
        if given:
            step["arguments"] = {
                "parameters": [
                    {"name": name, "value": tag(member("workflow.parameters", parameter))}
                    for name, parameter in zip(self._inputs, given, strict=True)
                ]
            }
        outputs = [
            {
                "name": name,
                "valueFrom": {
                    "parameter": variable(f"steps.{PART_STEP}.outputs.parameters.{name}")
                },
                "globalName": name,
            }
            for name in self._outputs
        ]
        outputs.append(
            {
                "name": ENDED,
                "valueFrom": {"expression": Tagged(f"steps.{PART_STEP}.status")},
                "globalName": ENDED,
            }
        )
        body: Tree = {"name": BODY, "outputs": {"parameters": outputs}, "steps": [[step]]}
        steps: list[list[Tree]] = [[{"name": "run", "template": BODY}]]
        if self._part.verdict is not None:
            template, wanted, output = self._part.verdict
            told = variable(f"steps.run.outputs.parameters.{output}")
            arguments = {"parameters": [{"name": wanted, "value": told}]}
            steps.append([{"name": "verdict", "template": template, "arguments": arguments}])
        return [{"name": ENTRYPOINT, "steps": steps}, body]

    @property
    def caller(self) -> Tree:
        """The template in the parent."""
        template: Tree = {"name": self._part.template}
        if self._inputs:
            template["inputs"] = {"parameters": [{"name": name} for name in self._inputs]}
        template["outputs"] = {
            "parameters": [
                *({"name": name, "valueFrom": {"jsonPath": _path(name)}} for name in self._outputs),
                # A run that was ended from outside has no outputs, and says nothing of its steps.
                {"name": ENDED, "valueFrom": {"jqFilter": _HAS_ENDED}},
            ]
        }
        # The pod that waits may be lost. Another takes the run up, as it finds it by its name.
        template["retryStrategy"] = {"limit": "3", "retryPolicy": "OnError"}
        template["resource"] = {
            "action": "apply",
            "manifest": self._manifest(),
            "successCondition": "status.phase in (Succeeded, Failed, Error)",
        }
        return template

    def _manifest(self) -> Tagged:
        """The manifest of the child, with tags where values go."""
        written: list[str] = []

        def mark(value: str) -> str:
            written.append(value)
            return f"{_MARK}-{len(written) - 1}-"

        part = self._part
        owner = {
            "apiVersion": API_VERSION,
            "kind": "Workflow",
            "name": mark(f'"{variable("workflow.name")}"'),  # some look like numbers
            "uid": mark(f'"{variable("workflow.uid")}"'),
            "controller": True,
        }
        tree: Tree = {
            "apiVersion": API_VERSION,
            "kind": "Workflow",
            "metadata": {
                "name": mark(child_name(part.run)),
                "labels": {
                    PARENT_LABEL: mark(f'"{variable("workflow.uid")}"'),
                    PART_LABEL: part.run,
                    # One that was put back to go on is held by this label, see `family_restart`.
                    COMPLETED_LABEL: "false",
                },
                "annotations": {TEMPLATE_MARK: part.template},
                # Not by `setOwnerReference`: Argo reads and writes the manifest anew for that, and
                # loses characters of the values.
                "ownerReferences": [owner],
            },
            "spec": {"workflowTemplateRef": {"name": self.definition["metadata"]["name"]}},
        }
        if self._given:
            tree["spec"]["arguments"] = {
                "parameters": [
                    {"name": name, "value": mark(tag(yaml_text(source)))}
                    for name, source in self._given.items()
                ]
            }
        return Tagged(
            re.sub(f"{_MARK}-([0-9]+)-", lambda found: written[int(found[1])], dump(tree))
        )


_STOPPED = f"""\
apiVersion: {API_VERSION}
kind: Workflow
metadata:
  name: {{{{inputs.parameters.name}}}}
spec:
  shutdown: Stop
"""
_HAS_ENDED = (
    f'[.status.outputs.parameters[]? | select(.name == "{ENDED}") | .value] | '
    'if length > 0 then .[0] else error("the run of this part was ended before its steps") end'
)


def run_name(wanted: str) -> str:
    """Return the name of a run for a legal name: itself if it is short."""
    if len(wanted) <= _LONGEST_RUN:
        return wanted
    digest = hashlib.sha256(wanted.encode()).hexdigest()[:8]
    return f"{wanted[: _LONGEST_RUN - 9].rstrip('-')}-{digest}"


def child_name(run: str) -> Tagged:
    """Return the tag for the name of a child: the same whenever it is asked for."""
    room = _LONGEST_NAME - len(run) - 10
    begins = f"sprig.regexReplaceAll('[^a-z0-9]+$', sprig.trunc({room}, workflow.name), '')"
    return tag(f"{begins} + {quote(f'-{run}-')} + sprig.trunc(8, workflow.uid)")


def yaml_text(source: str) -> str:
    r"""Return an expression for a text as YAML, whatever is in it."""
    plain = f"replace(sprig.quote({source}), '$', {quote(chr(92) + 'x24')})"
    return f"replace({plain}, {quote('{{')}, {quote('{' + chr(92) + 'x7b')})"


def _source(name: Name) -> str:
    """Return an expression for the text of a variable of the parent."""
    parts = ".".join(name).split(".")
    if parts == ["creationTimestamp"]:
        parts.append("RFC3339")
    source = member("workflow", *parts)
    return f"toJson({source})" if parts in (["annotations"], ["labels"], ["parameters"]) else source


def _path(output: str) -> str:
    return f'{{.status.outputs.parameters[?(@.name=="{output}")].value}}'


def _names_of(template: Tree, side: str) -> list[str]:
    found = template.get(side) or {}
    handed = [one for one in found.get("artifacts") or () if "raw" not in one]
    assert not handed, "files travel between parts by their keys"
    return [one["name"] for one in found.get("parameters") or ()]


def _definition_name(workflow: str, run: str, spec: Tree) -> str:
    text = json.dumps(spec, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    room = _LONGEST_NAME - len(run) - len(digest) - 2
    begins = re.sub("[^a-z0-9]+$", "", workflow[:room])
    return f"{begins}-{run}-{digest}"


def reachable(templates: Mapping[str, Tree], roots: Iterable[str]) -> list[str]:
    """Return the names of the templates that some use, their own among them, in stated order."""
    found: set[str] = set()
    waiting = [name for name in roots if name in templates]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        waiting += [used for used in _used(templates[name]) if used in templates]
    return [name for name in templates if name in found]


def _used(template: Tree) -> Iterator[str]:
    tasks = (template.get("dag") or {}).get("tasks") or ()
    yield from _calls(tasks)
    for group in template.get("steps") or ():
        yield from _calls(group if isinstance(group, list) else group.get("steps") or ())
    yield from hooked(template)


def _calls(tasks: Sequence[t.Any]) -> Iterator[str]:
    for task in tasks:
        if task.get("template"):
            yield task["template"]
        if task.get("inline"):
            yield from _used(task["inline"])
        yield from hooked(task)


def hooked(tree: Tree) -> Iterator[str]:
    """Yield the templates of the hooks of a task, or of the spec of a workflow."""
    if tree.get("onExit"):
        yield tree["onExit"]
    for hook in (tree.get("hooks") or {}).values():
        if hook.get("template"):
            yield hook["template"]
