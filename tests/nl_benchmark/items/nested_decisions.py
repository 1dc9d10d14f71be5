import couler


@couler.step
def risk() -> float:
    return 0.4


@couler.step
def amount(risk: float) -> int:
    return 1200


@couler.step
def sign(amount: int) -> None:
    print("please sign for", amount)


with couler.Workflow("loan"):
    value = risk()
    with couler.when(value < 0.5):
        sum_ = amount(value)
        with couler.when(sum_ > 1000):
            sign(sum_)
