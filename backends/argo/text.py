"""Text that must reach a process unchanged, past Argo's tags and the kubelet's references."""

from __future__ import annotations

import re

from couler.ir.kubelet import protect_dollars

BRACE_VARIABLE = "COULER_BRACE"
"""Environment variable that holds one opening brace, for texts with tags in them."""

_KNOWN = (
    "item|steps|tasks|inputs|outputs|pod|workflow|node|retries|lastRetry|status|duration|"
    "exitCode|resourcesDuration|cronworkflow|=|[A-Za-z]*sprig"
)
_TAG = re.compile(r"\{\{\s*(?:" + _KNOWN + r")")


def has_tag(text: str) -> bool:
    """Return whether Argo would read something in a text as a tag of its own."""
    if "{{" not in text:
        return False
    return _TAG.search(text) is not None or text.rfind("{{") > text.rfind("}}")


def protect(text: str) -> str:
    """Return a text for a container's command, arguments or environment."""
    if not has_tag(text):
        return protect_dollars(text)
    return protect_dollars(text).replace("{{", "{$(" + BRACE_VARIABLE + ")")


def uses_brace_variable(text: str) -> bool:
    """Return whether a protected text refers to `BRACE_VARIABLE`."""
    return "$(" + BRACE_VARIABLE + ")" in text
