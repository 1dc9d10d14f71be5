import couler


def say(letter):
    return couler.run_container("busybox:1.36", ["echo", letter], step_name=letter.lower())


with couler.Workflow("diamond"):
    a, b, c, d = say("A"), say("B"), say("C"), say("D")
    a >> [b, c] >> d
