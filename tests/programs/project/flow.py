"""Scores reviews: a package, a module and a program."""

from __future__ import annotations

import statistics

import pydantic
import scoring
from shop import words

import couler

REVIEWS = ["It is good.", "A great, great shop!", "The rest"]
LIMIT = 0.5


class Settings(pydantic.BaseModel):
    limit: float = LIMIT
    digits: int = 1


@couler.step(cache=True)
def clean(reviews: list[str]) -> list[list[str]]:
    return [words(review) for review in reviews]


@couler.step(cache=True)
def rate(reviews: list[list[str]]) -> list[float]:
    return [scoring.score(review) for review in reviews]


@couler.step(cache=True)
def summary(scores: list[float]) -> float:
    settings = Settings(digits=2)
    return round(statistics.mean(one for one in scores if one > settings.limit), settings.digits)


with couler.Workflow("reviews") as wf:
    cleaned = clean(REVIEWS)
    scores = rate(cleaned)
    wf.output("words", cleaned)
    wf.output("score", summary(scores))
