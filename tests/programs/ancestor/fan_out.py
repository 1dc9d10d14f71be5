# Many instances: a map over a thousand items, a hundred functions side by side, a long chain.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def consume(number):
    return couler.run_container(
        image="alpine:3.20", command=["echo"], args=[number], step_name="consume"
    )


def task(number):
    return couler.run_container(
        image="alpine:3.20",
        command=["echo", "task"],
        args=[number],
        step_name="task-%d" % number,
    )


couler.map(lambda number: consume(number), range(1000))
couler.concurrent([lambda number=number: task(number) for number in range(100)])
for number in range(100, 150):
    task(number)

couler.run(submitter=ArgoSubmitter())
