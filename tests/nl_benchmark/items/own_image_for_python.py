import couler


@couler.step(image="registry.example.org/torch:2", gpu=1)
def train() -> float:
    return 0.1


@couler.step
def check(loss: float) -> bool:
    return loss < 0.2


with couler.Workflow("torch"):
    check(train())
