"""Several steps that are one unit: a group, which is retried as a whole or runs a few at a time.

Group, stage, nested workflow, limit of parallelism.
"""

import couler


@couler.step
def pull(table: str) -> int:
    return len(table)


@couler.step
def compare(left: int, right: int) -> bool:
    return left == right


with couler.Workflow("reconcile") as wf:
    with couler.group("read-both", retry=1, max_parallel=1):
        same = compare(pull("ledger"), pull("orders"))
    wf.output("same", same)
