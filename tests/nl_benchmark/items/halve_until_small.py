import couler


@couler.step
def halve(loss: float) -> float:
    return loss / 2


with couler.Workflow("halving", start=1.0) as wf:
    with couler.loop(while_=lambda: better > 0.1, max_iterations=10) as rounds:
        loss = rounds.carry(wf.params.start, name="loss")
        better = halve(loss)
        rounds.next(better)
    wf.output("loss", better)
