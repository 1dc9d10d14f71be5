# A step that fails however often it is tried again, and what is done then.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def fetch():
    return couler.run_container(
        image="alpine:3.20",
        command=["sh", "-c", "echo trying; exit 3"],
        retry=2,
        timeout=60,
        resources={"cpu": 0.1, "memory": "16Mi"},
        step_name="fetch",
    )


def alert():
    return couler.run_container(image="alpine:3.20", command=["echo", "alert"], step_name="alert")


couler.set_dependencies(fetch)
couler.set_dependencies(alert, "fetch.Failed")

couler.run(submitter=ArgoSubmitter())
