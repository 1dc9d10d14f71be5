"""What a cluster is told about resources, nodes and pods changes no result."""

from couler.ir.pods import Dns, PodSettings
from couler.ir.policies import Gpu, Placement, Profile, Resources, SourceRef, Toleration
from couler.ir.workflow import Schedule
from tests.corpus.build import Expected, flow, sh

workflow = flow(
    "cluster-settings",
    sh(
        "train",
        "echo trained",
        resources=Resources(
            cpu="500m",
            memory="1Gi",
            disk="2Gi",
            cpu_limit="1",
            memory_limit="2Gi",
            gpu=Gpu(count=1, type="a100"),
        ),
        placement=Placement(
            node_selector={"zone": "a"},
            tolerations=(Toleration(key="gpu", operator="Exists", effect="NoSchedule"),),
            affinity={
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}
                        ]
                    }
                }
            },
            priority_class="high",
        ),
        pull_policy="IfNotPresent",
        labels={"team": "ml"},
        annotations={"note": "a: b"},
        profile=Profile(seconds=60, memory_bytes=2**30, output_bytes=10, operations=1e6),
        source=SourceRef(file="flow.py", line=3),
    ),
    description="A workflow with all that pods can be told.",
    schedule=Schedule(cron=("0 3 * * *", "30 4 * * 1"), timezone="Europe/Berlin"),
    pod=PodSettings(
        service_account="runner",
        image_pull_secrets=("registry",),
        node_selector={"pool": "batch"},
        tolerations=(Toleration(key="batch", value="yes"),),
        dns=Dns(policy="None", nameservers=("10.0.0.2",), searches=("ml.local",)),
        security_context={"runAsNonRoot": True},
    ),
    keep_s=3600,
    labels={"project": "digits"},
    annotations={"owner": "ml"},
    engine={"argo": {"spec": {"priority": 5}}},
)
expected = Expected("succeeded", succeeded="train", outputs={"train": {"result": "trained"}})
