# %% A first workflow of a notebook, whose submission fails.
import couler.argo as couler


class Offline:
    def submit(self, workflow):
        raise ConnectionError("no cluster")


def hello(text):
    return couler.run_container(image="alpine:3.20", command=["echo"], args=[text])


hello("one")
hello("two")
couler.run(submitter=Offline())  # raises

# %% The same cell once more, mended: nothing is left of the failed one.
seen = []


class Recording:
    def submit(self, workflow):
        seen.append(workflow)
        return workflow.name


couler.config_workflow(name="first")
hello("one")
hello("two")
couler.run(submitter=Recording())

# %% An exit handler that raises half-way.
couler.config_workflow(name="broken")


def handler():
    hello("three")
    raise KeyError("mistake")


couler.set_exit_handler(couler.WFStatus.Failed, handler)  # raises

# %% Go on after the mistake: these steps are no part of the handler.
hello("four")
couler.run(submitter=Recording())


# %% A second workflow in the same process, with a script that is defined in its cell.
def code():
    print("from a cell")


couler.config_workflow(name="second")
couler.run_script(image="python:3.12-slim", source=code)
couler.run(submitter=Recording)
