"""A loop: train further, round after round, until the loss is small enough or rounds run out.

Iterate, while, until, converge; a value carried from round to round.
"""

import couler


@couler.step
def train_round(loss: float, rate: float) -> float:
    return loss * (1 - rate)


with couler.Workflow("converge", rate=0.4, target=0.05) as wf:
    with couler.loop(while_=lambda: loss > wf.params.target, max_iterations=15) as rounds:
        before = rounds.carry(1.0, name="loss")
        loss = train_round(before, wf.params.rate)
        rounds.next(loss)
    wf.output("loss", loss)
