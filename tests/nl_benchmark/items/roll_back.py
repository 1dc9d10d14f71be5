import couler

IMAGE = "registry.example.org/fleet:8"

with couler.Workflow("rollout"):
    start = couler.run_container(IMAGE, ["rollout", "start"], step_name="start")
    undo = couler.run_container(IMAGE, ["rollout", "undo"], step_name="undo")
    couler.failure(start) >> undo
