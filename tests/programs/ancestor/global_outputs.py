# An output that is marked as global reaches steps that do not follow its step directly.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def produce():
    place = couler.create_parameter_artifact(path="run_id.txt", is_global=True)
    return couler.run_container(
        image="alpine:3.20",
        command=["sh", "-c", "echo -n run-17 > run_id.txt"],
        output=place,
        working_dir=".",
        step_name="produce",
    )


def between():
    return couler.run_container(image="alpine:3.20", command=["echo", "between"])


def consume(run_id):
    return couler.run_container(
        image="alpine:3.20", command=["echo", "read"], args=[run_id], step_name="consume"
    )


run_id = produce()
between()
consume(run_id)

couler.run(submitter=ArgoSubmitter())
