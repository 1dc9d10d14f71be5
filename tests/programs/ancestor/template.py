# A workflow that others start by its name: it is stored on the cluster as a WorkflowTemplate.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter

couler.config_workflow(name="scoring", labels={"team": "ml"})


def score(model):
    return couler.run_container(
        image="alpine:3.20", command=["echo", "scored"], args=[model], step_name="score"
    )


def publish(score):
    return couler.run_container(
        image="alpine:3.20", command=["echo", "published"], args=[score], step_name="publish"
    )


publish(score("v1"))

couler.run(submitter=ArgoSubmitter(namespace="ml", kind="WorkflowTemplate"))
