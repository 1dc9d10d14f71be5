"""The two readings of the paper's estimators."""

from __future__ import annotations

import typing as t

from couler.errors import EstimateError

Variant: t.TypeAlias = t.Literal["paper", "published-code"]
"""`paper`: the formulas of the paper, with slips mended and gaps filled, as each one tells.
`published-code`: what the code computes that was published with it, slips included."""


def check_variant(variant: str) -> None:
    """Check that a reading is one."""
    if variant not in t.get_args(Variant):
        raise EstimateError(f'the variant is "{variant}"; there are "paper" and "published-code"')
