"""Models of what happens to a text between a manifest of Argo and the process that gets it.

Argo: every `{{tag}}` whose name is known is replaced and every `{{=expression}}` is evaluated;
tags with unknown names stay (argo-workflows `util/template`). The model is stricter than Argo: a
tag that begins with any name that Argo gives a meaning counts as read, wherever it stands.

Kubelet: `$(NAME)` is replaced by a variable defined before, an unknown name stays, `$$` gives `$`
(kubernetes `third_party/forked/golang/expansion`).
"""

from __future__ import annotations

from collections.abc import Mapping

ARGO_NAMES = (
    "item",
    "steps",
    "tasks",
    "inputs",
    "outputs",
    "pod",
    "workflow",
    "node",
    "retries",
    "lastRetry",
    "status",
    "duration",
    "exitCode",
    "resourcesDuration",
    "cronworkflow",
)


class TagReadError(AssertionError):
    """Argo would have read a part of a text as a tag of its own."""


def argo(text: str) -> str:
    """Pass a text through Argo; fail if it would read anything in it."""
    position = 0
    while (start := text.find("{{", position)) >= 0:
        end = text.find("}}", start)
        if end < 0:
            raise TagReadError(f"no end to the tag at {start} in {text!r}")
        inner = text[start + 2 : end]
        # Argo also looks at the last opening before the end.
        for candidate in (inner, inner.rpartition("{{")[2]):
            name = candidate.strip()
            if name.startswith("=") or name.startswith(ARGO_NAMES):
                raise TagReadError(f"{{{{{candidate}}}}} in {text!r}")
        position = end + 2
    return text


def kubelet(text: str, environment: Mapping[str, str]) -> str:
    """Pass a text through the kubelet."""
    out: list[str] = []
    position = 0
    while position < len(text):
        if text[position] != "$" or position + 1 == len(text):
            out.append(text[position])
            position += 1
            continue
        following = text[position + 1]
        if following == "$":
            out.append("$")
            position += 2
        elif following == "(" and (end := text.find(")", position)) >= 0:
            name = text[position + 2 : end]
            out.append(environment.get(name, text[position : end + 1]))
            position = end + 1
        else:
            out.append("$" + following)
            position += 2
    return "".join(out)
