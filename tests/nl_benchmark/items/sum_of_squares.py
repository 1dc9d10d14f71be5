import couler


@couler.step
def square(number: int) -> int:
    return number * number


@couler.step
def add(numbers: list[int]) -> int:
    return sum(numbers)


with couler.Workflow("squares") as wf:
    wf.output("total", add(square.map(number=[1, 2, 3, 4])))
