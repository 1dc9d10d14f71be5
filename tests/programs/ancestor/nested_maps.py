# A map in the function of another: each region trains each model, and one step reads them all.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def train(region, model):
    return couler.run_container(
        image="alpine:3.20",
        command=["sh", "-c", 'echo "$0/$1"'],
        args=[region, model],
        step_name="train",
    )


def all_models(region):
    return couler.map(lambda model: train(region, model), ["tree", "forest"])


def collect(results):
    return couler.run_container(
        image="alpine:3.20", command=["echo"], args=[results], step_name="collect"
    )


collect(couler.map(all_models, ["north", "south"]))

couler.run(submitter=ArgoSubmitter())
