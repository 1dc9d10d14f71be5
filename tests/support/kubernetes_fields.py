"""Write `ir/kubernetes_fields.json`: the fields of Kubernetes' and Argo's objects, from schemas.

    python -m tests.support.kubernetes_fields FOLDER_OF_SCHEMAS

The folder has `Workflow.json` and `CronWorkflow.json`, the schemas that an API server enforces for
Argo's resources. Fields of pods that Argo has no place for are those of lightkube's models.

The file maps names of objects to `fields` and `required`. The type of a field is the name of an
object, `text`, `int`, `number`, `bool`, `int or text`, `scalar` (a number or a text) or `any`; a
list with the type of its items; an object `{"*": TYPE}` for a map; or `{"of": TYPE}` with `enum`,
`min` or `max`.
"""

from __future__ import annotations

import fnmatch
import json
import sys
import types
import typing as t
from pathlib import Path

import lightkube.models.core_v1 as core
import lightkube.models.meta_v1 as meta

Tree: t.TypeAlias = dict[str, t.Any]

FILE = Path(__file__).parents[2] / "ir" / "kubernetes_fields.json"

_TEMPLATE = "templates[]"
_NAMES = {
    "": "WorkflowSpec",
    "cron": "CronWorkflowSpec",
    f"{_TEMPLATE}": "Template",
    f"{_TEMPLATE}.container.lifecycle.preStop": "LifecycleHandler",
    f"{_TEMPLATE}.container.livenessProbe": "Probe",
    f"{_TEMPLATE}.container.securityContext": "SecurityContext",
    f"{_TEMPLATE}.dag.tasks[]": "DAGTask",
    f"{_TEMPLATE}.initContainers[]": "UserContainer",
    f"{_TEMPLATE}.resourceClaims[]": "PodResourceClaim",
    f"{_TEMPLATE}.securityContext": "PodSecurityContext",
    f"{_TEMPLATE}.volumes[]": "Volume",
    f"{_TEMPLATE}.volumes[].ephemeral.volumeClaimTemplate.spec": "PersistentVolumeClaimSpec",
    f"{_TEMPLATE}.volumes[].projected.sources[]": "VolumeProjection",
}
"""Names of objects by where a WorkflowSpec has them; others are named after their field."""

_OF_PODS = {
    "dnsPolicy": "dnsPolicy",
    "dnsConfig": "dnsConfig",
    "imagePullSecrets": "imagePullSecrets",
    "affinity": "affinity",
    "containers": f"{_TEMPLATE}.initContainers",
    "initContainers": f"{_TEMPLATE}.initContainers",
    "ephemeralContainers": f"{_TEMPLATE}.initContainers",
    "hostAliases": "hostAliases",
    "nodeSelector": "nodeSelector",
    "overhead": f"{_TEMPLATE}.podResources.limits",
    "resourceClaims": "resourceClaims",
    "resources": "podResources",
    "securityContext": "securityContext",
    "tolerations": "tolerations",
    "volumes": "volumes",
}
"""Fields of a pod's specification, by where a WorkflowSpec has the same."""

_OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist"]
_ENUMS = {
    "*.httpGet.scheme": ["HTTP", "HTTPS"],
    "*.imagePullPolicy": ["Always", "IfNotPresent", "Never"],
    "*.terminationMessagePolicy": ["File", "FallbackToLogsOnError"],
    "*.ports[].protocol": ["TCP", "UDP", "SCTP"],
    "*.seccompProfile.type": ["RuntimeDefault", "Unconfined", "Localhost"],
    "*.appArmorProfile.type": ["RuntimeDefault", "Unconfined", "Localhost"],
    "*.securityContext.procMount": ["Default", "Unmasked"],
    "*securityContext.fsGroupChangePolicy": ["OnRootMismatch", "Always"],
    "*securityContext.seLinuxChangePolicy": ["MountOption", "Recursive"],
    "*securityContext.supplementalGroupsPolicy": ["Merge", "Strict"],
    "*.nodeAffinity.*.operator": [*_OPERATORS, "Gt", "Lt"],
    "*.matchExpressions[].operator": _OPERATORS,
    "*tolerations[].operator": ["Equal", "Exists", "Lt", "Gt"],
    "*tolerations[].effect": ["NoSchedule", "PreferNoSchedule", "NoExecute"],
    "*.accessModes[]": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"],
    "*dnsPolicy": ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"],
}
"""Words that Kubernetes' validation takes, which its schemas do not have."""

_BOUNDS = {
    "*.initialDelaySeconds": (0, None),
    "*Probe.*Seconds": (1, None),
    "*Probe.*Threshold": (1, None),
    "*.sleep.seconds": (0, None),
    "*[!P]ort": (1, 65535),
    "*.runAs[UG]*": (0, None),
    "*ecurityContext.fsGroup": (0, None),
    "*ecurityContext.supplementalGroups[]": (0, None),
    "*.weight": (1, 100),
    "*activeDeadlineSeconds": (0, None),
    "*terminationGracePeriodSeconds": (0, None),
}
"""The bounds of its numbers likewise; the first pattern that fits holds."""

_ANY_STRINGS = {
    "*arameters[].value": True,
    "*arameters[].default": True,
    "*arameters[].enum[]": True,
    "*arameters[].valueFrom.default": True,
}
"""The texts of Argo's type AnyString, which reads numbers too, as Kubernetes' Quantity does."""


class _Table:
    """Objects by their names, each once."""

    def __init__(self) -> None:
        self.objects: dict[str, Tree] = {}
        self.types: dict[str, t.Any] = {}
        """The type at each place of a WorkflowSpec."""

    def name(self, wanted: str, entry: Tree) -> str:
        """Return the name of an object, which is taken in if it is new."""
        for name, known in self.objects.items():
            if known == entry:
                return name
        name, number = wanted, 1
        while name in self.objects:
            number += 1
            name = f"{wanted}{number}"
        self.objects[name] = entry
        return name

    def rename(self, old: str, new: str) -> None:
        """Give an object another name."""

        def renamed(kind: t.Any) -> t.Any:
            if isinstance(kind, list):
                return [renamed(kind[0])]
            if isinstance(kind, dict):
                return {key: renamed(one) if key == "*" else one for key, one in kind.items()}
            return new if kind == old else kind

        self.objects[new] = self.objects.pop(old)
        for entry in self.objects.values():
            entry["fields"] = {name: renamed(one) for name, one in entry["fields"].items()}
        self.types = {place: renamed(one) for place, one in self.types.items()}

    def of_schema(self, schema: Tree, place: str) -> t.Any:
        """Return the type of a schema."""
        self.types[place] = found = self._of_schema(schema, place)
        return found

    def _of_schema(self, schema: Tree, place: str) -> t.Any:
        match schema.get("type"):
            case "object" if "properties" in schema:
                start = f"{place}." if place else ""
                fields = {
                    name: self.of_schema(one, f"{start}{name}")
                    for name, one in sorted(schema["properties"].items())
                }
                last = place.rpartition(".")[2].rstrip("[]*")
                name = last[:1].upper() + last[1:]
                return self.name(name, _entry(fields, schema.get("required")))
            case "object":
                inner = schema.get("additionalProperties")
                if not isinstance(inner, dict):
                    return {"*": "any"}
                return {"*": self.of_schema(inner, f"{place}[*]")}
            case "array":
                return [self.of_schema(schema["items"], f"{place}[]")]
            case kind:
                is_list = place.endswith(".withItems")  # of which the schemas say nothing
                return ["any"] if is_list else _scalar(kind, schema, place)

    def of_model(self, kind: t.Any, place: str) -> t.Any:
        """Return the type of an annotation in lightkube's models."""
        arguments = t.get_args(kind)
        if t.get_origin(kind) in (t.Union, types.UnionType):
            inner = [one for one in arguments if one is not type(None)]
            return self.of_model(inner[0], place) if len(inner) == 1 else "int or text"
        if t.get_origin(kind) is list:
            return [self.of_model(arguments[0], f"{place}[]")]
        if hasattr(kind, "__struct_fields__"):
            return self.of_fields(kind, place)
        if t.get_origin(kind) is dict or kind is dict:
            return {"*": "any"}
        names = {str: "string", int: "integer", bool: "boolean", float: "number"}
        return _scalar(names.get(kind), {}, place)

    def of_fields(
        self, model: t.Any, place: str, known: t.Mapping[str, t.Any] | None = None
    ) -> str:
        """Return the name of a model's object; `known` has types of fields that are not its own."""
        hints = t.get_type_hints(model)
        hints.pop("managedFields", None)
        fields = {
            name: (known or {}).get(name) or self.of_model(hints[name], f"{place}.{name}")
            for name in sorted(hints)
        }
        return self.name(model.__name__, _entry(fields, None))


def _entry(fields: Tree, required: list[str] | None) -> Tree:
    return {"fields": fields, **({"required": sorted(required)} if required else {})}


def _scalar(kind: t.Any, schema: Tree, place: str) -> t.Any:
    names = {"string": "text", "integer": "int", "boolean": "bool", "number": "number"}
    if isinstance(kind, list):
        found = "int or text" if set(kind) == {"integer", "string"} else "any"
    else:
        found = names.get(kind, "any")
    if (found, "pattern" in schema) == ("int or text", True) or _matching(_ANY_STRINGS, place):
        found = "scalar"
    rules: Tree = {}
    words = schema.get("enum") or _matching(_ENUMS, place)
    if words and found == "text":
        rules["enum"] = words
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None and found in ("int", "int or text"):
        low, high = _matching(_BOUNDS, place) or (low, high)
    rules |= {name: one for name, one in (("min", low), ("max", high)) if one is not None}
    return {"of": found, **rules} if rules else found


def _matching(rules: t.Mapping[str, t.Any], place: str) -> t.Any:
    return next((one for rule, one in rules.items() if fnmatch.fnmatchcase(place, rule)), None)


def table(folder: Path) -> str:
    """Return the text of the file."""
    found = _Table()
    for kind, place in (("Workflow", ""), ("CronWorkflow", "cron")):
        schema = json.loads((folder / f"{kind}.json").read_text(encoding="utf-8"))
        found.of_schema(schema["properties"]["spec"], place)
    for place, name in _NAMES.items():
        found.rename(found.types[place], name)
    known = {field: found.types[place] for field, place in _OF_PODS.items()}
    found.of_fields(core.PodSpec, "pod", known)
    found.of_fields(meta.ObjectMeta, "metadata")
    found.objects["Template"]["required"] = ["name"]  # the schemas have defaults in mind, too
    entries = (f"{json.dumps(name)}: {json.dumps(one)}" for name, one in found.objects.items())
    return "{\n" + ",\n".join(entries) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(table(Path(sys.argv[1])), encoding="utf-8")
