import couler


@couler.step
def evaluate(fold: int, seed: int) -> float:
    return 0.8 + fold / 100


@couler.step
def mean(scores: list[float]) -> float:
    return round(sum(scores) / len(scores), 4)


with couler.Workflow("cross-validation", seed=7) as wf:
    scores = evaluate.partial(seed=wf.params.seed).map(fold=list(range(5)))
    wf.output("mean", mean(scores))
