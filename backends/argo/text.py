"""Text that must reach a process unchanged, past Argo's tags and the kubelet's references.

Three mills grind a text on its way to a process:

- Argo replaces `{{tag}}`, several times over, wherever the tag begins with a name that it knows,
  and evaluates every `{{=expression}}` (`util/template` of Argo Workflows);
- the kubelet replaces `$(NAME)` by an environment variable defined before it and `$$` by `$`,
  in command, arguments and environment; a script's source passes through the environment of the
  init container, so the same holds for it;
- what is left is handed to the process.

`protect` writes a text so that it comes out of all three as it went in.
"""

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
    """Return whether Argo would read something in a text as a tag of its own.

    Tags with a name that Argo does not know stay in the text, so they are no danger; an opening
    without its closing is, as it would take up text behind it.

    Examples
    --------
    >>> has_tag("{{workflow.name}}"), has_tag('f"{{x}}"'), has_tag("{{=1}}"), has_tag("{{ open")
    (True, False, True, True)
    """
    if "{{" not in text:
        return False
    return _TAG.search(text) is not None or text.rfind("{{") > text.rfind("}}")


def protect(text: str) -> str:
    """Return a text for a container's command, arguments or environment.

    Where it holds tags, one of two braces is written as a reference to `BRACE_VARIABLE`, which the
    container must then define first.

    Examples
    --------
    >>> protect("cost: $5"), protect("{{item}}")
    ('cost: $5', '{$(COULER_BRACE)item}}')
    """
    if not has_tag(text):
        return protect_dollars(text)
    return protect_dollars(text).replace("{{", "{$(" + BRACE_VARIABLE + ")")


def uses_brace_variable(text: str) -> bool:
    """Return whether a protected text refers to `BRACE_VARIABLE`."""
    return "$(" + BRACE_VARIABLE + ")" in text
