"""A sweep over hyperparameters: points, a grid, a fit for each of its rows, and a kept model."""

from __future__ import annotations

from dataclasses import dataclass

import couler
from couler import File


@dataclass
class Fit:
    degree: int
    penalty: float
    error: float


@dataclass
class Grid:
    degrees: list[int]
    penalties: list[float]


@couler.step
def points(count: int, seed: int) -> File:
    import random

    draw = random.Random(seed)
    with open("points.csv", "w") as file:
        for index in range(count):
            file.write(f"{index / count},{index / count + draw.gauss(0, 0.1)}\n")
    return File("points.csv")


@couler.step
def grid(most: int) -> Grid:
    pairs = [(degree, penalty) for degree in range(1, most + 1) for penalty in (0.01, 0.1)]
    return Grid([degree for degree, _ in pairs], [penalty for _, penalty in pairs])


@couler.step(cpu=1, memory="512Mi", retry=2, timeout="5m")
def fit(data: File, degree: int, penalty: float) -> Fit:
    with open(data) as file:
        count = sum(1 for _ in file)
    return Fit(degree, penalty, round(abs(degree - 3) * 0.1 + penalty + 1 / count, 4))


@couler.step
def best_of(fits: list[Fit]) -> Fit:
    return min(fits, key=lambda one: one.error)


@couler.step(keep=couler.S3Artifact(key="models/best.json"))
def refit(data: File, degree: int, penalty: float) -> File:
    import json

    with open(data) as file, open("model.json", "w") as model:
        json.dump({"degree": degree, "penalty": penalty, "points": len(file.readlines())}, model)
    return File("model.json")


with couler.Workflow(
    "sweep", count=500, most=4, seed=1, defaults=couler.StepDefaults(image="python:3.12-slim")
) as workflow:
    data = points(workflow.params.count, workflow.params.seed)
    rows = grid(workflow.params.most)
    fits = fit.partial(data=data).map(degree=rows.degrees, penalty=rows.penalties, max_parallel=4)
    best = best_of(fits)
    workflow.output("error", best.error)
    workflow.output("model", refit(data, best.degree, best.penalty))
