import couler
from couler import File


@couler.step
def load() -> File:
    with open("sales.csv", "w") as file:
        file.write("day,pieces\n1,2\n")
    return File("sales.csv")


@couler.step(retry=1)
def forecast(sales: File, store: str, horizon: int) -> int:
    return len(store) * horizon


@couler.step
def report(forecasts: list[int]) -> str:
    return ", ".join(str(pieces) for pieces in forecasts)


with couler.Workflow("demand", stores=["north", "south"], horizon=14) as wf:
    pieces = forecast.partial(sales=load(), horizon=wf.params.horizon).map(store=wf.params.stores)
    report(pieces)
