import couler
from couler import File


@couler.step
def extract(table: str) -> File:
    with open("rows.csv", "w") as file:
        file.write(f"id\n{table}\n")
    return File("rows.csv")


@couler.step
def join(orders: File, customers: File, products: File) -> File:
    with open("joined.csv", "w") as file:
        for path in (orders, customers, products):
            file.write(open(path).read())
    return File("joined.csv")


@couler.step
def load(rows: File) -> None:
    print(open(rows).read())


with couler.Workflow("etl"):
    tables = [extract(name) for name in ("orders", "customers", "products")]
    load(join(*tables))
