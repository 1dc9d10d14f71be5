import couler


@couler.step
def accuracy() -> float:
    return 0.93


@couler.step
def latency() -> int:
    return 40


@couler.step
def release() -> None:
    print("released")


with couler.Workflow("release-gate"):
    with couler.when((accuracy() >= 0.9) & (latency() < 50)):
        release()
