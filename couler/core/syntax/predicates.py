"""The ancestor's import path; the names are in `couler`."""

from couler import bigger, bigger_equal, equal, not_equal, smaller, smaller_equal

__all__ = ["bigger", "bigger_equal", "equal", "not_equal", "smaller", "smaller_equal"]
