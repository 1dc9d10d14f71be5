"""A step finds a list, another runs once for each of its items, and a third gathers the results.

Dynamic fan-out over an output, map, for each, gather, reduce; at most some at the same time.
"""

import couler


@couler.step
def find_shops(region: str) -> list[str]:
    return [f"{region}-{number}" for number in range(4)]


@couler.step
def sales_of(shop: str) -> int:
    return len(shop) * 10


@couler.step
def total_sales(sales: list[int]) -> int:
    return sum(sales)


with couler.Workflow("sales", region="north") as wf:
    sales = sales_of.map(shop=find_shops(wf.params.region), max_parallel=2)
    wf.output("total", total_sales(sales))
