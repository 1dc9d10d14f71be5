"""Keys of cached results, as Argo's memoization can compute them, and the maps that hold them."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from couler.backends.argo.tags import Tagged, tag
from couler.ir.cachekey import cache_key, text_digest

MAPS: t.Final = {1: 0, 16: 1, 256: 2}
"""How many config maps the entries of a workflow can be in: the first digits of keys tell which."""

DEFAULT_MAPS: t.Final = 16

REPOSITORY_MARK: t.Final = "couler_repository"
"""Output of a memoized template, and so in its entry: which repository its files are in."""


def memo_key(digest: str, texts: Sequence[tuple[str, str | None]]) -> str:
    """Return the key of a memoized template: a digest, or an expression that gives it."""
    known = _known_key(digest, texts)
    return tag(_expression(digest, texts)) if known is None else known


def memo_map(name: str, digest: str, texts: Sequence[tuple[str, str | None]], *, maps: int) -> str:
    """Return the config map of a template's entries: a name, or one with a tag in it."""
    digits = MAPS[maps]
    if not digits:
        return name
    known = _known_key(digest, texts)
    if known is not None:
        return f"{name}-{known[:digits]}"
    return Tagged(f"{name}-{tag(f'{_expression(digest, texts)}[0:{digits}]')}")


def map_name(workflow: str) -> str:
    """Return what the names of a workflow's config maps begin with."""
    return f"couler-{workflow}"


def _known_key(digest: str, texts: Sequence[tuple[str, str | None]]) -> str | None:
    known = [text for _, text in texts if text is not None]
    return cache_key(digest, known) if len(known) == len(texts) else None


def _expression(digest: str, texts: Sequence[tuple[str, str | None]]) -> str:
    terms = [f"'{digest}'"]
    for name, text in texts:
        if text is None:
            terms.append(f"sprig.sha256sum(inputs.parameters.{name})")
        else:
            terms.append(f"'{text_digest(text)}'")
    return "sprig.sha256sum(" + " + ".join(terms) + ")"
