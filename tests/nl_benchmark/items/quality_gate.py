import couler


@couler.step
def score() -> float:
    return 0.97


@couler.step
def publish(value: float) -> str:
    return "published"


@couler.step
def reject(value: float) -> str:
    return "rejected"


with couler.Workflow("gate", threshold=0.95) as wf:
    value = score()
    with couler.when(value > wf.params.threshold) as good:
        yes = publish(value)
    with good.otherwise():
        no = reject(value)
    wf.output("outcome", couler.first_of(yes, no))
