import couler

IMAGE = "registry.example.org/canary:3"

with couler.Workflow("canary"):
    start = couler.run_container(IMAGE, ["canary", "start"], step_name="start")
    measure = couler.run_container(IMAGE, ["canary", "measure"], step_name="measure")
    start >> couler.suspend("10m", step_name="wait") >> measure
