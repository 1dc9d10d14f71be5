"""What in the description of a cluster is allowed, and probably a slip of the keyboard."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from couler.cluster.model import Cluster
from couler.ir.diagnostics import did_you_mean
from couler.ir.wording import few_text
from couler.operations.category import KINDS

_LEAST_BYTES = 16 * 2**20
"""No machine that runs pods has less memory."""


def doubts_of(cluster: Cluster, used: Collection[str] = ()) -> Iterator[str]:
    """Yield what is doubted: kinds of models that nobody knows, and memory without a unit."""
    small: dict[int, list[str]] = {}
    for node in cluster.nodes:
        if node.memory_bytes < _LEAST_BYTES:
            small.setdefault(node.memory_bytes, []).append(node.name)
    for count, names in small.items():
        meant = f" Did you mean {count}Gi?" if count < 2**14 else ""
        yield (
            f"Memory is in bytes without a unit: {few_text(names)} "
            f"{'has' if len(names) == 1 else 'have'} {count:,} bytes.{meant}"
        )
    known = dict.fromkeys((*used, *KINDS))
    for kind in dict.fromkeys(speed.model for speed in cluster.speeds):
        if kind and kind not in known:
            yield f'Speeds are stated for "{kind}", which is no known kind of model.' + (
                did_you_mean(kind, known) or " They are of use to steps whose profile names it."
            )
