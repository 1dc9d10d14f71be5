import couler


@couler.step
def train(loss: float) -> float:
    return loss / 2


@couler.step
def check(loss: float) -> float:
    return loss - 1


with couler.Workflow("early-stopping"):
    with couler.loop(while_=lambda: gain > 0, max_iterations=15) as rounds:
        loss = train(rounds.carry(8.0, name="loss"))
        gain = check(loss)
        rounds.next(loss)
