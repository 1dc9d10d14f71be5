"""Scores of words."""

import functools
import math

GOOD = {"good": 2.0, "great": 3.0}


def rounded(function):
    """Round what a function returns to two digits."""

    @functools.wraps(function)
    def call(*args, **named):
        return round(function(*args, **named), 2)

    return call


@rounded
def score(words):
    """Return the score of some words."""
    return math.log1p(sum(GOOD.get(word, 0.0) for word in words))
