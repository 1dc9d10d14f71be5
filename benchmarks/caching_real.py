"""A workflow of real scikit-learn and numpy steps, run ten times while somebody works on it.

Each of the ten runs has other parameters than the one before: mostly those of models, at times
those of features, rarely those of the data, and some go back to what was before. It is done again
for each policy, in a home of its own, under a budget of a quarter of the bytes that one run makes;
`unlimited` keeps everything, `none` nothing. Times are those of this machine, and their ratios to
the first policy are what counts; the seconds of processors are those of the steps. Numeric
libraries get one thread each: where there are fewer processors than threads, these spin while they
wait for each other, and the time of a step is that of whatever runs beside it.

    python benchmarks/caching_real.py [--quick] [--rows N] [--runs N] [--seed S] [--json OUT]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
import typing as t
from dataclasses import asdict, dataclass
from pathlib import Path

import couler
from couler import File
from couler.backends.base import RunOptions
from couler.stages import run
from couler.state import attempts_of, open_database
from couler.state.cache import stats_of_cache
from couler.state.home import Home
from couler.store import ObjectStore

POLICIES = ("none", "lru", "couler", "next-use", "all", "unlimited")
COLUMNS = 100
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SHARE = 4
"""The budget is this part of what one run makes."""


@couler.step(cache=True)
def load(rows: int, columns: int, seed: int) -> File:
    import numpy as np
    from sklearn.datasets import make_classification

    data, labels = make_classification(
        rows, columns, n_informative=20, n_redundant=20, flip_y=0.05, random_state=seed
    )
    data[np.random.default_rng(seed).random(data.shape) < 0.01] = np.nan
    np.save("table.npy", np.column_stack([data, labels]).astype("float32"))
    return File("table.npy")


@couler.step(cache=True)
def clean(table: File, bound: float) -> File:
    import numpy as np

    data = np.load(table)
    middle = np.nanmedian(data[:, :-1], axis=0)
    data[:, :-1] = np.clip(np.where(np.isnan(data[:, :-1]), middle, data[:, :-1]), -bound, bound)
    np.save("clean.npy", data)
    return File("clean.npy")


@couler.step(cache=True)
def standardise(table: File) -> File:
    import numpy as np

    data = np.load(table)
    data[:, :-1] = (data[:, :-1] - data[:, :-1].mean(axis=0)) / data[:, :-1].std(axis=0)
    np.save("standard.npy", data)
    return File("standard.npy")


@couler.step(cache=True)
def rank(table: File, quantiles: int) -> File:
    import numpy as np
    from sklearn.preprocessing import QuantileTransformer

    data = np.load(table)
    ranks = QuantileTransformer(n_quantiles=quantiles, output_distribution="normal", random_state=0)
    data[:, :-1] = ranks.fit_transform(data[:, :-1])
    np.save("ranks.npy", data)
    return File("ranks.npy")


@couler.step(cache=True)
def project(table: File, components: int) -> File:
    import numpy as np
    from sklearn.decomposition import PCA

    data = np.load(table)
    projected = PCA(components, random_state=0).fit_transform(data[:, :-1])
    np.save("projected.npy", np.column_stack([projected, data[:, -1]]).astype("float32"))
    return File("projected.npy")


@couler.step(cache=True)
def expand(table: File, gamma: float, components: int) -> File:
    import numpy as np
    from sklearn.kernel_approximation import RBFSampler

    data = np.load(table)
    sampler = RBFSampler(gamma=gamma, n_components=components, random_state=0)
    features = sampler.fit_transform(data[:, :-1])
    np.save("features.npy", np.column_stack([features, data[:, -1]]).astype("float32"))
    return File("features.npy")


@couler.step(cache=True)
def fit_linear(table: File, c: float) -> File:
    import pickle

    import numpy as np
    from sklearn.linear_model import LogisticRegression

    data = np.load(table)
    half = len(data) // 2
    model = LogisticRegression(C=c, max_iter=300).fit(data[:half, :-1], data[:half, -1])
    with open("linear.pickle", "wb") as file:
        pickle.dump((model, model.score(data[half:, :-1], data[half:, -1])), file)
    return File("linear.pickle")


@couler.step(cache=True)
def fit_trees(table: File, depth: int) -> File:
    import pickle

    import numpy as np
    from sklearn.ensemble import HistGradientBoostingClassifier

    data = np.load(table)
    half = len(data) // 2
    model = HistGradientBoostingClassifier(max_depth=depth, max_iter=30, random_state=0)
    model.fit(data[:half, :-1], data[:half, -1])
    with open("trees.pickle", "wb") as file:
        pickle.dump((model, model.score(data[half:, :-1], data[half:, -1])), file)
    return File("trees.pickle")


@couler.step
def report(linear: File, trees: File) -> dict[str, float]:
    import pickle

    scores = {}
    for name, path in (("linear", linear), ("trees", trees)):
        with open(path, "rb") as file:
            scores[name] = round(float(pickle.load(file)[1]), 4)
    return scores


FIRST: dict[str, t.Any] = {
    "data_seed": 1,
    "bound": 8.0,
    "quantiles": 500,
    "components": 20,
    "gamma": 0.01,
    "c": 1.0,
    "depth": 4,
}
OTHERS: dict[str, tuple[int, tuple[t.Any, ...]]] = {
    "data_seed": (1, (1, 2)),
    "bound": (1, (6.0, 8.0)),
    "quantiles": (2, (200, 500, 1000)),
    "components": (3, (10, 20, 40)),
    "gamma": (3, (0.005, 0.01, 0.02)),
    "c": (5, (0.1, 1.0, 10.0, 100.0)),
    "depth": (5, (3, 4, 6, 8)),
}
"""How often each parameter is changed among the others, and to what."""


def workflow(rows: int) -> couler.Workflow:
    """Return the workflow: two ways from a table to a model, each with its own preprocessing."""
    with couler.Workflow("study", **FIRST) as made:
        given = made.params
        table = clean(load(rows, COLUMNS, given.data_seed), given.bound)
        linear = fit_linear(project(standardise(table), given.components), given.c)
        trees = fit_trees(expand(rank(table, given.quantiles), given.gamma, COLUMNS), given.depth)
        made.output("scores", report(linear, trees))
    return made


def courses(runs: int, seed: int) -> list[dict[str, t.Any]]:
    """Return the parameters of each run: one or two are other than in the run before."""
    chance = random.Random(seed)
    names, weights = list(OTHERS), [weight for weight, _ in OTHERS.values()]
    course = [dict(FIRST)]
    while len(course) < runs:
        changed = dict(course[-1])
        for name in sorted(set(chance.choices(names, weights, k=chance.randint(1, 2)))):
            changed[name] = chance.choice([v for v in OTHERS[name][1] if v != changed[name]])
        course.append(changed)
    return course


@dataclass
class Figures:
    """What a policy made of the runs."""

    policy: str
    wall_s: float
    cpu_s: float
    hits: int
    passed: int
    misses: int
    rejected: int
    evicted: int
    saved_s: float
    lost_s: float
    entries_bytes: int
    disk_bytes: int
    scores: list[dict[str, float]]


def measure(policy: str, course: list[dict[str, t.Any]], rows: int, budget: int | None) -> Figures:
    """Run all in a new home, and look at what is left."""
    limited = policy != "unlimited"
    with tempfile.TemporaryDirectory(prefix="couler-caching-") as folder:
        options = RunOptions(
            home=Path(folder),
            jobs=2,
            cache_budget=budget if limited else None,
            cache_policy=policy if limited else None,
        )
        program = workflow(rows)
        wall_s, scores, cpu_s = 0.0, [], 0.0
        home = Home(Path(folder))
        for parameters in course:
            begun = time.monotonic()
            result = run(program, parameters=parameters, options=options)
            wall_s += time.monotonic() - begun
            if result.status != "succeeded":
                raise SystemExit(f"{policy}: {result.run_id} {result.status}: {result.message}")
            scores.append(t.cast("dict[str, float]", result.outputs["scores"]))
            with open_database(home.database_url) as database:
                cpu_s += sum(one.cpu_s or 0.0 for one in attempts_of(database, result.run_id))
        with open_database(home.database_url) as database:
            stats = stats_of_cache(database)
        return Figures(
            policy=policy,
            wall_s=wall_s,
            cpu_s=cpu_s,
            hits=stats.hits,
            passed=stats.passed,
            misses=stats.misses,
            rejected=stats.rejected,
            evicted=stats.evicted,
            saved_s=stats.saved_s,
            lost_s=stats.lost_s,
            entries_bytes=stats.size_bytes,
            disk_bytes=sum(item.size for item in ObjectStore(home.store_url).objects()),
            scores=scores,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="3 runs on a small table")
    parser.add_argument("--rows", type=int, help="default 100,000: 40 MB a table")
    parser.add_argument("--runs", type=int, help="default 10")
    parser.add_argument("--seed", type=int, default=1, help="of the changes")
    parser.add_argument("--policy", action="append", help="only these")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    options = parser.parse_args()
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    rows = options.rows or (2_000 if options.quick else 100_000)
    course = courses(options.runs or (3 if options.quick else 10), options.seed)
    one = measure("unlimited", course[:1], rows, None)
    budget = one.entries_bytes // SHARE
    print(
        f"seed {options.seed}: {len(course)} runs; one makes {one.entries_bytes / 1e6:.1f} MB, "
        f"the budget is {budget / 1e6:.1f} MB\n"
    )
    print(
        "policy          wall s  ratio   cpu s  ratio  hits  passed  missed  rejected  evicted"
        "  disk MB"
    )
    rows_of: list[Figures] = []
    for policy in options.policy or POLICIES:
        found = measure(policy, course, rows, budget)
        rows_of.append(found)
        base = rows_of[0]
        print(
            f"{policy:14} {found.wall_s:7.1f} {found.wall_s / base.wall_s:6.3f} "
            f"{found.cpu_s:7.1f} {found.cpu_s / base.cpu_s:6.3f} {found.hits:5} "
            f"{found.passed:7} {found.misses:7} {found.rejected:9} {found.evicted:8} "
            f"{found.disk_bytes / 1e6:8.1f}",
            flush=True,
        )
    if any(found.scores != rows_of[0].scores for found in rows_of):
        raise SystemExit("the policies do not come to the same scores")
    if options.json is not None:
        figures = {
            "seed": options.seed,
            "course": course,
            "budget_bytes": budget,
            "policies": [asdict(found) for found in rows_of],
        }
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
