"""Keys of cached results, as Argo's memoization can compute them."""

from __future__ import annotations

from collections.abc import Sequence

from couler.backends.argo.expressions import tag
from couler.ir.cachekey import cache_key, text_digest


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
    known = [text for _, text in texts if text is not None]
    if len(known) == len(texts):
        return cache_key(digest, known)
    terms = [f"'{digest}'"]
    for name, text in texts:
        if text is None:
            terms.append(f"sprig.sha256sum(inputs.parameters.{name})")
        else:
            terms.append(f"'{text_digest(text)}'")
    return tag("sprig.sha256sum(" + " + ".join(terms) + ")")
