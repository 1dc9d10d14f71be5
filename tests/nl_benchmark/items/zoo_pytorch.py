import couler
from couler.steps import pytorch

IMAGE = "registry.example.org/speech:2"

with couler.Workflow("speech"):
    prepared = couler.run_container(IMAGE, ["python", "prepare.py"], step_name="prepare")
    trained = pytorch.train(
        image=IMAGE, command=["python", "train.py"], num_workers=4, gpu=1, step_name="train"
    )
    prepared >> trained
