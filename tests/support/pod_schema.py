"""What an API server would refuse of a pod."""

from __future__ import annotations

import typing as t

from couler.ir.verify.objects import check_object


def problems(pod: dict[str, t.Any]) -> list[str]:
    """Return what is wrong with the specification of a pod, fields that nothing knows included."""
    found: list[str] = []
    spec = {name: value for name, value in pod["spec"].items() if value not in (None, [], {})}
    assert spec["restartPolicy"] == "Never"
    check_object(spec, "PodSpec", "spec", lambda _, problem: found.append(problem))
    return found
