"""A workflow that runs by a schedule, and reports how it ended: cron, exit handlers, notification.

Every night, hourly, weekly; notify on success or on failure; what handlers read has defaults.
"""

import couler


@couler.step(timeout="1h")
def refresh_index() -> int:
    return 1200


@couler.step
def tell_team(status: str, documents: int) -> None:
    print("index", status, "with", documents, "documents")


@couler.step
def page_someone() -> None:
    print("somebody should look at the index")


with couler.Workflow(
    "nightly-index",
    schedule=couler.Schedule("30 2 * * *", timezone="Europe/Paris", concurrency="forbid"),
) as wf:
    documents = refresh_index()
    wf.on_exit(lambda: tell_team(wf.run_facts.status, documents.or_else(0)), name="tell")
    wf.on_exit(page_someone, status="failure", name="page")
