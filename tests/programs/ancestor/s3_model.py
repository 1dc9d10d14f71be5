# A model is kept in a bucket of S3 that speaks no TLS, with keys of the program, and read again.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter

model = couler.create_s3_artifact(
    path="/tmp/model.bin",
    bucket="models",
    accesskey_id="team",
    accesskey_secret="s3cr3t-key",
    key="churn/model.bin",
    endpoint="minio.storage:9000",
    insecure=True,
)


def train():
    return couler.run_container(
        image="alpine:3.20",
        command=["sh", "-c", "echo weights > /tmp/model.bin"],
        output=model,
        step_name="train",
    )


def serve():
    return couler.run_container(
        image="alpine:3.20", command=["cat", "/tmp/model.bin"], input=[model], step_name="serve"
    )


def serve_directly(model):
    return couler.run_container(
        image="alpine:3.20", command=["cat"], args=[model], step_name="serve-directly"
    )


trained = train()
serve()
serve_directly(trained)

couler.run(submitter=ArgoSubmitter(namespace="ml"))
