"""Keys of cached results, as Argo's memoization can compute them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from couler.ir.cachekey import definition_digest
from couler.ir.workflow import Step


def static_digest(step: Step) -> str:
    """Return the digest of everything about a step but its texts, in hexadecimal."""
    return definition_digest(step)


def memo_key(digest: str, texts: Sequence[tuple[str, str | None]]) -> str:
    """Return the key of a memoized template: a digest, or an expression that gives it.

    Parameters
    ----------
    digest
        Of the step's definition.
    texts
        The names of the template's texts and, where they are known, the texts themselves.

    Notes
    -----
    The key is that of `couler.ir.cachekey.cache_key`; Argo takes letters, digits and dashes only.
    """
    if all(text is not None for _, text in texts):
        parts = [_sha256(text or "") for _, text in texts]
        return _sha256(digest + "".join(parts))
    terms = [f"'{digest}'"]
    for name, text in texts:
        if text is None:
            terms.append(f"sprig.sha256sum(inputs.parameters.{name})")
        else:
            terms.append(f"'{_sha256(text)}'")
    return "{{=sprig.sha256sum(" + " + ".join(terms) + ")}}"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
