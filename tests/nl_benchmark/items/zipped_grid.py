import couler


@couler.step
def fit(model: str, depth: int) -> float:
    return float(len(model) * depth)


@couler.step
def largest(scores: list[float]) -> float:
    return max(scores)


with couler.Workflow("grid") as wf:
    scores = fit.map(model=["tree", "forest", "boosting"], depth=[2, 4, 3])
    wf.output("best", largest(scores))
