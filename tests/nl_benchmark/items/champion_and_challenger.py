import couler


@couler.step
def score_champion() -> float:
    return 0.81


@couler.step
def score_challenger() -> float:
    return 0.84


@couler.step
def promote(score: float) -> None:
    print("promoted with", score)


with couler.Workflow("challenge"):
    champion, challenger = score_champion(), score_challenger()
    with couler.when(challenger > champion):
        promote(challenger)
