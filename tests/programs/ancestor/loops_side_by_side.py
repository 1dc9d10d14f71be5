# Two loops that do not wait for each other, and a step after both.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def poll(name, answer):
    return couler.run_container(
        image="alpine:3.20", command=["echo"], args=[answer], step_name=name
    )


def wait_for(name, answer):
    return couler.exec_while(couler.equal("waiting"), lambda: poll(name, answer), max_iterations=3)


couler.concurrent([lambda: wait_for("upload", "there"), lambda: wait_for("review", "approved")])
couler.run_container(image="alpine:3.20", command=["echo", "released"], step_name="release")

couler.run(submitter=ArgoSubmitter())
