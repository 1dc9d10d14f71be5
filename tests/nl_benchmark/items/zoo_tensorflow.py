import couler
from couler.steps import tensorflow

IMAGE = "registry.example.org/wide:1"

with couler.Workflow("wide"):
    trained = tensorflow.train(
        image=IMAGE, command="python train.py", num_ps=1, num_workers=3, step_name="train"
    )
    evaluated = couler.run_container(IMAGE, ["python", "evaluate.py"], step_name="evaluate")
    trained >> evaluated
