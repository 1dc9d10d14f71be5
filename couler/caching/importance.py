"""The caching importance factor of the Couler paper: Equation 6 of section IV-A."""
# Couler: Unified Machine Learning Workflow Optimization in Cloud, IV-A.

from __future__ import annotations

import math
import typing as t

Reading: t.TypeAlias = t.Literal["paper", "repaired"]
"""How the equations are read: as printed, or with their slips mended."""

ALPHA = 1.5
"""Weight of the reconstruction cost in Eq. 6, as in the paper's experiments (VI-C1)."""

BETA = 1.0
"""Weight of the reuse value in Eq. 6, as in the paper's experiments (VI-C1)."""


def caching_cost(size_bytes: int, capacity_bytes: int, *, reading: Reading = "repaired") -> float:
    """Return the caching cost `V(u)`: the memory that keeping an artifact takes."""
    # IV-A2, which gives no equation and no unit; Algorithm 2, line 18.
    if capacity_bytes <= 0:
        raise ValueError(f"capacity_bytes is {capacity_bytes}; it must be above 0")
    return float(size_bytes) if reading == "paper" else size_bytes / capacity_bytes


def importance(
    reconstruction: float,
    reuse: float,
    caching: float,
    *,
    reading: Reading = "repaired",
    alpha: float = ALPHA,
    beta: float = BETA,
) -> float:
    """Return the importance factor `I(u)`: what has the least of it is given up first."""
    # Eq. 6; `alpha` and `beta` from VI-C1.
    penalty = math.exp(-caching) if reading == "paper" else -math.expm1(-caching)
    return alpha * math.log1p(reconstruction) + beta * reuse**2 - penalty
