# The search for the best model: a map over models, one over its outputs, and the best of them.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter

MODELS = ["tree", "forest", "boosting"]


def train(model):
    return couler.run_container(
        image="alpine:3.20", command=["sh", "-c", 'echo "weights-of-$0"'], args=[model]
    )


def evaluate(weights):
    return couler.run_script(
        image="python:3.12-slim",
        source="import sys; print(len(sys.argv[1]) / 100)",
        args=[weights],
        step_name="evaluate",
    )


def pick(scores):
    return couler.run_script(
        image="python:3.12-slim",
        source="import json, sys; print(max(map(float, json.loads(sys.argv[1]))))",
        args=[scores],
        step_name="pick",
    )


def deploy():
    return couler.run_container(image="alpine:3.20", command=["echo", "deployed"])


trained = couler.map(lambda model: train(model), MODELS)
scores = couler.map(lambda weights: evaluate(weights), trained)
best = pick(scores)
couler.when(couler.bigger(best, 0.1), lambda: deploy())

couler.run(submitter=ArgoSubmitter())
