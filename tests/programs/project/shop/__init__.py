"""Reviews of a shop."""

from .cleaning import words

__all__ = ["words"]
