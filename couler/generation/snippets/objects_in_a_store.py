"""Read an object of S3 and write another one: files outside of the workflow.

Bucket, key, object store, download, upload.
"""

import couler
from couler import File


@couler.step(keep=couler.S3Artifact(bucket="reports", key="monthly/summary.txt"))
def summarise_orders(orders: File) -> File:
    with open(orders) as lines, open("summary.txt", "w") as summary:
        summary.write(f"{sum(1 for _ in lines)} orders")
    return File("summary.txt")


with couler.Workflow("orders", month="2024-05") as wf:
    key = couler.text("orders/{}.csv", wf.params.month)
    wf.output("summary", summarise_orders(couler.S3Artifact(bucket="shop", key=key)))
