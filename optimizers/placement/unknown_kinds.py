"""Kinds of models that a cluster states speeds of, and that nothing computes: misspelt ones."""

from __future__ import annotations

from collections.abc import Collection

from couler.cluster.model import Cluster
from couler.ir.diagnostics import did_you_mean
from couler.operations.category import KINDS

__all__ = ["told_of_unknown_kinds"]


def told_of_unknown_kinds(cluster: Cluster, used: Collection[str] = ()) -> tuple[str, ...]:
    """Say of which kinds of models speeds are stated that neither steps nor we know.

    Parameters
    ----------
    cluster
        Its `speeds`.
    used
        Kinds that steps of a workflow state.

    Examples
    --------
    >>> from couler.cluster.model import Speed
    >>> told_of_unknown_kinds(Cluster((), speeds=(Speed(1e9, model="random-forst"),)))
    ('Speeds are stated for "random-forst", which is no known kind of model. Did you mean \
"random-forest"?',)
    """
    known = dict.fromkeys((*used, *KINDS))
    kinds = dict.fromkeys(speed.model for speed in cluster.speeds)
    return tuple(
        f'Speeds are stated for "{kind}", which is no known kind of model.'
        + (did_you_mean(kind, known) or " They are of use to steps whose profile names it.")
        for kind in kinds
        if kind and kind not in known
    )
