"""Text past the kubelet, which reads `$(NAME)` and `$$` in commands, arguments and environment."""

from __future__ import annotations

import re

_DOLLAR = re.compile(r"\$(?=[$(])")


def needs_dollars(text: str) -> bool:
    """Return whether the kubelet would change a text."""
    return "$$" in text or "$(" in text


def protect_dollars(text: str) -> str:
    """Double the dollars of a text that the kubelet would take for the start of something."""
    return _DOLLAR.sub("$$", text) if needs_dollars(text) else text
