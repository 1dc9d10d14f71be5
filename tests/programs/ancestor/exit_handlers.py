# A handler for every way in which a run can end; the ones for failures run here.
import couler.argo as couler
from couler.argo_submitter import ArgoSubmitter


def work():
    return couler.run_container(
        image="alpine:3.20",
        command=["sh", "-c", "echo working; exit 3"],
        step_name="work",
        retry=1,
    )


def tell(text):
    return couler.run_container(image="alpine:3.20", command=["echo"], args=[text])


def on_success():
    tell("all went well")


def on_failure():
    tell("a step failed")


def on_error():
    tell("something broke")


def at_the_end():
    tell("it is over")


work()
couler.set_exit_handler(couler.WFStatus.Succeeded, on_success)
couler.set_exit_handler(couler.WFStatus.Failed, on_failure)
couler.set_exit_handler(couler.WFStatus.Error, on_error)
couler.set_exit_handler(None, at_the_end)

couler.run(submitter=ArgoSubmitter())
