# A data set in a bucket of OSS that exists, with the keys of a secret that exists.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter
from couler.ir.storage import SecretKey

dataset = couler.create_oss_artifact(
    path="/tmp/data.csv",
    bucket="datasets",
    accesskey_id=SecretKey(secret="oss", key="id"),
    accesskey_secret=SecretKey(secret="oss", key="secret"),
    key="titanic.csv",
    endpoint="oss-cn-hangzhou.aliyuncs.com",
)


def count():
    return couler.run_container(
        image="alpine:3.20", command=["wc", "-l", "/tmp/data.csv"], input=dataset, step_name="count"
    )


count()

couler.run(submitter=ArgoSubmitter(namespace="ml"))
