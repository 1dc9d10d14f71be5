"""Keeps what saves most time for its size, sooner rather than later."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from couler.caching.policy import CachePolicy, Knowledge


@dataclass(frozen=True)
class NextUseDensity(CachePolicy):
    r"""Next-use density, the default: cost divided by size times the distance to the next reader.

    .. math:: worth(u) = \frac{cost(u)}{size(u) \cdot distance(u)}

    where the cost is what it takes to have u again, and the distance is how many jobs start before
    its next reader, by a list schedule that takes all jobs for equally long. What has no reader
    left is refused, and goes first.

    Notes
    -----
    Keeping u occupies its size until its next reader starts, and saves its cost then: the worth is
    the saving for each byte and job that it is kept, the density by which a knapsack is filled
    greedily. With equal costs and the size left out it is the rule of Belady [1]_ on the order
    that is foretold, which for artifacts of several sizes and costs is not optimal [2]_.

    A worth rises as jobs start, and changes as a reader starts or as what it is made of is kept
    or given up.

    References
    ----------
    .. [1] L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", IBM
       Systems Journal 5(2), 1966.
    .. [2] D. S. Berger, N. Beckmann and M. Harchol-Balter, "Practical bounds on optimal caching
       with variable object sizes", Proc. ACM on Measurement and Analysis of Computing Systems
       2(2), 2018.
    """

    worths_only_rise: t.ClassVar[bool] = True
    worths_are_densities: t.ClassVar[bool] = True

    def admit(self, key: str, known: Knowledge) -> str | None:
        """Refuse what nobody is known to read any more."""
        return None if known.is_read(key) else "has no reader left"

    def worth(self, key: str, known: Knowledge) -> float:
        """Return the seconds saved for each byte and job that passes; 0 without a reader."""
        distance = known.distance(key)
        if distance is None:
            return 0.0
        return known.cost_s(key) / (max(known.size_bytes(key), 1) * distance)
