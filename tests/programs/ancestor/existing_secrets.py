# Secrets: one that the program makes, two that exist on the cluster, and one that is never made.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter

NAMESPACE = "ml"

made = couler.create_secret(
    {"uname": "me", "passwd": "s3cr3t"}, namespace=NAMESPACE, name="registry-login"
)
again = couler.create_secret(
    {"access_key": "k", "secret_key": "s"}, namespace=NAMESPACE, name="bucket", use_existing=True
)
existing = couler.obtain_secret(["token"], namespace=NAMESPACE, name="tracker")
dry = couler.create_secret({"note": "n"}, name="not-made", dry_run=True)


def show(name, secret, command):
    return couler.run_container(
        image="alpine:3.20",
        command=["sh", "-c", command],
        secret=secret,
        step_name=name,
    )


show("login", made, "echo ${#uname} ${#passwd}")
show("fetch", again, "echo ${#access_key} ${#secret_key}")
show("track", existing, "echo ${#token}")
show("note", dry, "echo ${#note}")

couler.run(submitter=ArgoSubmitter(namespace=NAMESPACE))
