# Helpers that make steps and return nothing work wherever a function is taken.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def notify(person):
    couler.run_container(
        image="alpine:3.20", command=["echo", "dear"], args=[person], step_name="notify"
    )


def both(person):
    couler.run_container(
        image="alpine:3.20", command=["echo", "write to"], args=[person], step_name="write"
    )
    couler.run_container(
        image="alpine:3.20", command=["echo", "call"], args=[person], step_name="call"
    )


def flip():
    couler.run_container(image="alpine:3.20", command=["echo", "tails"], step_name="flip")


couler.map(lambda person: notify(person), ["ann", "bob"])
couler.map(both, ["cy", "di"])
couler.concurrent([lambda: notify("ed"), lambda: both("flo")])
couler.exec_while(couler.equal("heads"), flip)
couler.when(couler.equal(couler.get_step_output("flip")[-1], "tails"), lambda: notify("gus"))
couler.set_exit_handler(couler.WFStatus.Failed, lambda: notify("hal"))

couler.run(submitter=ArgoSubmitter())
