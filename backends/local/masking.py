"""Keeping the values of secrets out of logs and messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import quote

MASK = b"***"

_SHORTEST_LINE = 4
"""Lines of a secret of several lines are masked one by one from this length on, in bytes."""


class Masker:
    """Replaces secrets in a stream of bytes, also where one is cut in two by the reading.

    Parameters
    ----------
    secrets
        The values; empty ones are left out.

    Examples
    --------
    >>> masker = Masker(["hunter2"])
    >>> masker.feed(b"password: hun") + masker.feed(b"ter2!") + masker.flush()
    b'password: ***!'
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        needles = set()
        for secret in secrets:
            lines = secret.splitlines()
            needles.add(secret)
            if len(lines) > 1:
                needles.update(line for line in lines if len(line) >= _SHORTEST_LINE)
        encoded = (needle.encode(errors="surrogateescape") for needle in needles if needle.strip())
        self._needles = sorted(encoded, key=len, reverse=True)
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """Take in more of the stream and return what of it can be shown."""
        if not self._needles:
            return chunk
        text = self._replace(self._held + chunk)
        # The end may be the beginning of a secret; it waits for what follows.
        keep = len(self._needles[0]) - 1
        shown = text[: max(0, len(text) - keep)]
        self._held = text[len(shown) :]
        return shown

    def flush(self) -> bytes:
        """Return what was held back."""
        held, self._held = self._held, b""
        return held

    def _replace(self, text: bytes) -> bytes:
        for needle in self._needles:
            text = text.replace(needle, MASK)
        return text


def masked(text: str | None, secrets: Sequence[str]) -> str | None:
    """Return a text without the values of secrets; None stays None.

    They are looked for as they are, as Python quotes them and as URLs do.

    Examples
    --------
    >>> masked("refused: hunter2, https://a.b/?key=a%2Fb", ["hunter2", "a/b"])
    'refused: ***, https://a.b/?key=***'
    """
    if text is None or not secrets:
        return text
    forms = {
        form
        for secret in secrets
        for form in (secret, repr(secret)[1:-1], quote(secret, "", errors="surrogateescape"))
    }
    masker = Masker(forms)
    shown = masker.feed(text.encode(errors="surrogateescape")) + masker.flush()
    return shown.decode(errors="surrogateescape")
