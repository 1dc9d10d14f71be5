# A workflow that runs by itself, with every setting that a schedule had.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter

couler.config_workflow(
    name="nightly-report",
    timeout=3600,
    time_to_clean=7 * 24 * 3600,
    cron_config={
        "schedule": "30 2 * * 1-5",
        "suspend": "false",
        "timezone": "Asia/Shanghai",
        "concurrency_policy": "Forbid",
        "successful_jobs_history_limit": "3",
        "failed_jobs_history_limit": 5,
        "starting_deadline_seconds": 10,
    },
)


def report():
    return couler.run_container(
        image="alpine:3.20", command=["echo", "the report"], step_name="report"
    )


report()

couler.run(submitter=ArgoSubmitter())
