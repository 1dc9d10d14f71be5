"""What the kubelet does to ``$(NAME)`` in command, arguments and environment."""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)", re.DOTALL)


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Expand references to variables; one that is not known stays as it is, and ``$$`` is ``$``.

    Examples
    --------
    >>> expand("$(A) $(B) $$(A) $A $", {"A": "1"})
    '1 $(B) $(A) $A $'
    """

    def replace(found: re.Match[str]) -> str:
        if found[1] is None:
            return "$"
        return variables.get(found[1], found[0])

    return _REFERENCE.sub(replace, text)
