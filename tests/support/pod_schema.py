"""What an API server would refuse of a pod, by the schemas of its parts in Argo's templates."""

from __future__ import annotations

import typing as t

from tests.support import argo_schema

Tree = dict[str, t.Any]

_OF_TEMPLATE = (
    *("affinity", "automountServiceAccountToken", "hostAliases", "initContainers"),
    *("nodeSelector", "priorityClassName", "resourceClaims", "schedulerName", "securityContext"),
    *("serviceAccountName", "tolerations", "volumes"),
)
_OF_WORKFLOW = ("dnsConfig", "dnsPolicy", "hostNetwork", "imagePullSecrets")
_OTHER = ("activeDeadlineSeconds", "terminationGracePeriodSeconds")


def problems(pod: Tree) -> list[str]:
    """Return what is wrong with the specification of a pod, fields that nothing knows included."""
    spec = {name: value for name, value in pod["spec"].items() if value not in (None, [], {})}
    assert spec.pop("restartPolicy") == "Never"
    base, *others = spec.pop("containers")
    template = {"name": "a", "container": base, "sidecars": others}
    template |= {name: spec.pop(name) for name in _OF_TEMPLATE if name in spec}
    if "resources" in spec:
        template["podResources"] = spec.pop("resources")
    found = [
        f"{name}: no whole number" for name in _OTHER if not isinstance(spec.pop(name, 0), int)
    ]
    whole = {name: spec.pop(name) for name in _OF_WORKFLOW if name in spec}
    found += [f"{name}: not known" for name in spec]
    manifest = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {},
        "spec": {**whole, "templates": [template]},
    }
    return found + argo_schema.problems(manifest)
