import couler


@couler.step
def days() -> list[str]:
    return ["mon", "tue", "wed"]


@couler.step
def length(day: str) -> int:
    return len(day)


@couler.step
def total(lengths: list[int]) -> int:
    return sum(lengths)


with couler.Workflow("days") as wf:
    wf.output("sum", total(length.map(day=days())))
