"""Several steps in a row for each item of a list: a function that is mapped.

Pipeline for each city, file or customer; map of a sub-workflow.
"""

import couler


@couler.step
def download_weather(city: str) -> list[float]:
    return [float(len(city)), 12.5]


@couler.step
def forecast(history: list[float]) -> float:
    return sum(history) / len(history)


@couler.step
def summarise(forecasts: list[float]) -> float:
    return max(forecasts)


with couler.Workflow("weather") as wf:

    def for_city(city: str) -> float:
        return forecast(download_weather(city))

    warmest = summarise(couler.map(for_city, ["Oslo", "Rome", "Cairo"]))
    wf.output("warmest", warmest)
