import couler


@couler.step
def size() -> int:
    return 5


@couler.step
def retrain(size: int) -> float:
    return 0.9


@couler.step
def keep(score: float) -> float:
    return score


with couler.Workflow("fallback") as wf:
    rows = size()
    with couler.when(rows > 100):
        score = retrain(rows)
    wf.output("score", keep(couler.or_else(score, 0.5)))
