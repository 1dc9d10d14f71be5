import couler
from couler.steps import katib

IMAGE = "registry.example.org/tune:1"

with couler.Workflow("tune"):
    best = katib.run(
        tuning_params=[{"name": "--lr", "type": "double", "range": [0.01, 0.03]}],
        objective={"type": "maximize", "metric_name": "accuracy"},
        algorithm="tpe",
        image=IMAGE,
        command=["python", "train.py"],
        step_name="tune",
    )
    with couler.when(best.best_value > 0.9):
        couler.run_container(IMAGE, ["python", "final.py"], step_name="final")
