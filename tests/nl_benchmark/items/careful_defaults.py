import couler

IMAGE = "registry.example.org/report:5"
DEFAULTS = couler.StepDefaults(retry=3, timeout="30m", env={"TZ": "UTC"})

with couler.Workflow("report", defaults=DEFAULTS):
    collect = couler.run_container(IMAGE, ["collect"], step_name="collect")
    render = couler.run_container(IMAGE, ["render"], step_name="render")
    send = couler.run_container(IMAGE, ["send"], step_name="send")
    collect >> render >> send
