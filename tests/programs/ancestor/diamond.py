# A diamond by dependencies: B and C name A, which was first made without any, and D names both.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def job(name):
    return couler.run_container(
        image="alpine:3.20",
        command=["sh", "-c", 'echo "job %s is done"' % name],
        step_name=name,
    )


def job_a():
    return job("A")


def job_b():
    return job("B")


def job_c():
    return job("C")


def job_d():
    return job("D")


couler.set_dependencies(job_a, dependencies=None)
couler.set_dependencies(job_b, dependencies=["A"])
couler.set_dependencies(job_c, dependencies=["A"])
couler.set_dependencies(job_d, dependencies=["B", "C"])

couler.run(submitter=ArgoSubmitter())
