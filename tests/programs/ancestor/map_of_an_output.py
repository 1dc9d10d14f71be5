# What to do is known only when the first step has run: it prints a list, and each item is a step.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def find_tables():
    return couler.run_container(
        image="alpine:3.20",
        command=["echo", '["users", "orders", "items"]'],
        step_name="find-tables",
    )


def check(table):
    return couler.run_container(
        image="alpine:3.20", command=["echo", "checked"], args=[table], step_name="check"
    )


couler.map(check, find_tables())

couler.run(submitter=ArgoSubmitter())
