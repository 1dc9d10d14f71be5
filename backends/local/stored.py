"""Files of the store among outputs."""

from __future__ import annotations

from collections.abc import Iterator

from couler.ir.semantics.values import Outputs, singles
from couler.ir.values import is_file
from couler.store import is_reference


def references(outputs: Outputs) -> Iterator[str]:
    """Yield what the store holds; the default of a file that was not written is no reference."""
    return (
        item.text for item in singles(outputs) if is_file(item.type) and is_reference(item.text)
    )
