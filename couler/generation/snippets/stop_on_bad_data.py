"""Check the data first, and let nothing else run if it is not fit: a data validation gate.

Quality check, schema check, fail early; order without data by >>.
"""

import couler
from couler import File


@couler.step
def extract() -> File:
    with open("rows.csv", "w") as file:
        file.write("id,amount\n1,9.5\n2,3.0\n")
    return File("rows.csv")


@couler.step
def check_rows(rows: File, least: int) -> int:
    with open(rows) as file:
        count = sum(1 for _ in file) - 1
    if count < least:
        raise SystemExit(f"{count} rows are too few")
    return count


@couler.step
def load_rows(rows: File) -> str:
    return "loaded"


with couler.Workflow("checked-load", least=1) as wf:
    rows = extract()
    checked = check_rows(rows, wf.params.least)
    loaded = load_rows(rows)
    checked >> loaded
    wf.output("rows", checked)
