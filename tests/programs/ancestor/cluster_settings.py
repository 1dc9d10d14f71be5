# What a cluster wants to be told of all pods of a workflow, and of one.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter
from couler.core.templates.dns import DnsConfig, DnsConfigOption
from couler.core.templates.image_pull_secret import ImagePullSecret
from couler.core.templates.toleration import Toleration

couler.config_workflow(name="settings", timeout=3600, time_to_clean=600, service_account="runner")
couler.add_toleration(Toleration("example.org/gpu", "NoSchedule", "Exists"))
couler.add_toleration(Toleration(key="spot", effect="NoExecute", operator="Equal", value="yes"))
couler.add_image_pull_secret(ImagePullSecret("registry"))
couler.add_image_pull_secret(ImagePullSecret("mirror"))
couler.set_dns(
    "None",
    DnsConfig(
        nameservers=["10.0.0.10", "1.1.1.1"],
        options=[DnsConfigOption("ndots", "2"), DnsConfigOption("edns0")],
        searches=["svc.cluster.local"],
    ),
)
couler.states.workflow.set_security_context({"runAsUser": 1000, "runAsNonRoot": True})


def train():
    return couler.run_container(
        image="alpine:3.20",
        command=["echo", "training"],
        resources={"cpu": 1, "memory": "64Mi"},
        timeout=600,
        retry=2,
        image_pull_policy=couler.ImagePullPolicy.IfNotPresent,
        node_selector={"disk": "ssd"},
        cache=couler.Cache(name="trained", key="v1", max_age="3h"),
        step_name="train",
    )


train()

couler.run(submitter=ArgoSubmitter(namespace="ml"))
