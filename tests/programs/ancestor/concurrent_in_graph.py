# Side by side inside of a graph: both branches wait for the step before, the last waits for both.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def job(name):
    return couler.run_container(image="alpine:3.20", command=["echo"], args=[name], step_name=name)


def left():
    job("left-1")


def right():
    job("right-1")


def train_all():
    return couler.concurrent([left, right])


couler.dag([[lambda: job("start"), train_all, lambda: job("stop")]])

couler.run(submitter=ArgoSubmitter())
