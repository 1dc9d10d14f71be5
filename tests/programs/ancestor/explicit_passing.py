# Outputs are passed where an argument says so, and nowhere else.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter

couler.config_workflow(name="explicit-passing", pass_outputs=False)


def produce():
    return couler.run_container(
        image="alpine:3.20",
        command=["sh", "-c", "echo 42 > number.txt; echo 7 > other.txt"],
        output=[
            couler.create_parameter_artifact(path="number.txt"),
            couler.create_parameter_artifact(path="other.txt"),
        ],
        working_dir=".",
        step_name="produce",
    )


def show_arguments(name, args):
    return couler.run_container(
        image="alpine:3.20", command=["echo", "arguments:"], args=args, step_name=name
    )


produced = couler.set_dependencies(produce, dependencies=None)
couler.set_dependencies(lambda: show_arguments("none", []), dependencies=["produce"])
couler.set_dependencies(lambda: show_arguments("one", [produced[0]]), dependencies=["produce"])
couler.set_dependencies(
    lambda: show_arguments("all", ["and"]), dependencies=["produce"], pass_outputs=True
)

couler.run(submitter=ArgoSubmitter())
