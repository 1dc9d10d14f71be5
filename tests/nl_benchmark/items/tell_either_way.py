import couler


def say(word):
    return couler.run_container("busybox:1.37", ["echo", word], step_name=f"say-{word}")


with couler.Workflow("told") as wf:
    couler.run_container("busybox:1.37", ["sleep", "1"], step_name="work")
    wf.on_exit(lambda: say("fine"), status="success", name="praise")
    wf.on_exit(lambda: say("broken"), status="failure", name="alarm")
