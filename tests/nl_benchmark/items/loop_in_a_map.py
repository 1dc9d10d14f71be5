import couler


@couler.step
def double(value: int) -> int:
    return value * 2


def improve(seed):
    with couler.loop(while_=lambda: better < 10, max_iterations=8) as rounds:
        value = rounds.carry(seed, name="value")
        better = double(value)
        rounds.next(better)
    return better


with couler.Workflow("seeds"):
    couler.map(improve, [1, 2])
