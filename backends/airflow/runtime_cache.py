"""Functions that DAG files carry for steps with a cache."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from couler.backends.airflow.filing import place, with_volume

CACHE = ""
"""Stands for what a file defines: the text of `cache.sh`."""

MODULES: dict[str, tuple[str, ...]] = {
    "collections.abc": ("Sequence",),
    "hashlib": (),
    "typing": ("Any",),
}
"""Where the names come from that the functions use."""


def with_cache(
    fields: dict[str, Any],
    folder: str,
    digests: Sequence[str],
    *,
    max_age_s: int | None = None,
    files: Sequence[str] = (),
    claim: str | None = None,
) -> dict[str, Any]:
    """Have the wrapper of a process run by CACHE, which takes the outputs of an entry instead."""
    words = [folder, "".join(digests), "" if max_age_s is None else str(max_age_s), *files]
    cached = {
        **fields,
        "cmds": ["/couler/busybox", "sh", "-c", "{{ CACHE }}", "couler"],
        "arguments": [*words, "--", *fields["cmds"], *fields["arguments"]],
        "do_xcom_push": True,
    }
    return cached if claim is None else with_volume(cached, claim)


def sha256(text: str | None) -> str:
    """Return the digest of a text; of none that of an empty one."""
    return hashlib.sha256((text or "").encode()).hexdigest()


def place_of_try(ti: Any, name: str, root: str = "") -> str:
    """Return where an output is kept, by each try elsewhere: what a cache knows stays as it is."""
    return f"{place(ti, name, root)}/{ti.try_number}"
