"""Whether what was chosen on some real workflows holds on others.

Workflows of an application are alike, so that an application is in one half as a whole: the names
of the applications are sorted, and every second one is in the other half.
"""

from __future__ import annotations

import statistics
import typing as t
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.cache_simulation import Machine
from couler.caching import eviction
from couler.caching.graph import ArtifactGraph
from workloads.caching_runs import DEFAULT, REMOTE, SHARES, WORKERS, cases, contenders, run

LEFT_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""What a byte that is left free may count, to one of the newcomer's."""


@dataclass(frozen=True)
class Tried:
    """The default policy on one workflow with one cache, by what a byte left free counts."""

    name: str
    cache: str
    left_share: float
    share: float
    """Of what can be saved, what is saved."""


def application(name: str) -> str:
    """Return of which application a workflow is.

    Examples
    --------
    >>> application("1000genome-chameleon-2ch-100k-001")
    '1000genome'
    """
    return name.rpartition("/")[2].partition("-")[0]


def halves(names: Collection[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Divide workflows by their applications, every second one each.

    Examples
    --------
    >>> [sorted(half) for half in halves(["c-1", "a-1", "b-1", "a-2"])]
    [['a-1', 'a-2', 'c-1'], ['b-1']]
    """
    applications = sorted({application(name) for name in names})
    first = frozenset(name for name in names if application(name) in applications[::2])
    return first, frozenset(names) - first


def try_left_shares(name: str, graph: ArtifactGraph, seed: int) -> list[Tried]:
    """Return what the default saves of a workflow for each of the left shares."""
    policy = next(one for one in contenders() if one.name == DEFAULT)
    caches = {f"{share:.0%}": int(sum(graph.size_bytes) * share) for share in SHARES}
    found: list[Tried] = []
    for case in cases("real", name, graph, Machine(WORKERS, REMOTE), caches):
        limit = case.linear()
        if limit is None or not limit.limit_s:
            continue
        for left_share in LEFT_SHARES:
            with _left_share(left_share):
                read_s = run(case, policy, seed, waits=False).read_s
            share = (case.without.read_s - read_s) / limit.limit_s
            found.append(Tried(name, case.cache, left_share, share))
    return found


@contextmanager
def _left_share(share: float) -> Iterator[None]:
    before = eviction.LEFT_SHARE
    eviction.LEFT_SHARE = share
    try:
        yield
    finally:
        eviction.LEFT_SHARE = before


class Chosen(t.NamedTuple):
    """A left share that was chosen on one half of the workflows."""

    left_share: float
    own: float
    """The mean share on the half on which it was chosen."""
    other: float
    """That on the other half."""
    best: float
    """The greatest mean share there, of all left shares."""


def choose(tried: Sequence[Tried]) -> tuple[dict[float, tuple[float, float]], list[Chosen]]:
    """Return the mean of each half for each left share, and what is chosen on each of them.

    Of equals the one that is nearest to what is used is chosen. Nothing if there is one half only.
    """
    first, second = halves({one.name for one in tried})
    if not first or not second:
        return {}, []
    means = {
        left_share: (_mean(tried, left_share, first), _mean(tried, left_share, second))
        for left_share in LEFT_SHARES
    }
    chosen = []
    for own, other in ((0, 1), (1, 0)):
        best = max(LEFT_SHARES, key=lambda one: (means[one][own], -abs(one - eviction.LEFT_SHARE)))
        greatest = max(mean[other] for mean in means.values())
        chosen.append(Chosen(best, means[best][own], means[best][other], greatest))
    return means, chosen


def _mean(tried: Sequence[Tried], left_share: float, names: Collection[str]) -> float:
    return statistics.mean(
        one.share for one in tried if one.left_share == left_share and one.name in names
    )
