import couler


@couler.step
def evaluate() -> float:
    return 0.92


with couler.Workflow("guarded") as wf:
    with couler.when(evaluate() >= 0.9) as good:
        approval = couler.suspend(step_name="approve", message="Deploy this model?")
        deploy = couler.run_container(
            "registry.example.org/serving:3", ["deploy", "model"], step_name="deploy"
        )
        approval >> deploy
    with good.otherwise():
        couler.http(
            "https://alerts.example.org/ml", "POST", body="model too weak", step_name="alert"
        )
