from typing import NamedTuple

import couler
from couler import File

MODELS = ["ResNet", "ViT", "DenseNet"]


class Data(NamedTuple):
    train: File
    validation: File


class Validation(NamedTuple):
    model: str
    accuracy: float


@couler.step
def load() -> Data:
    """Write the images for training and those for validation."""
    for name in ("train", "validation"):
        with open(f"{name}.txt", "w") as file:
            file.write(f"images for {name}")
    return Data(File("train.txt"), File("validation.txt"))


@couler.step
def train(model: str, data: File) -> File:
    """Train one model."""
    with open("model.txt", "w") as file:
        file.write(model)
    return File("model.txt")


@couler.step
def validate(model: File, data: File) -> Validation:
    """Measure how many images of the validation data a model recognises."""
    with open(model) as file:
        name = file.read()
    return Validation(name, 0.9 + len(name) / 1000)


@couler.step
def select(results: list[Validation]) -> str:
    """Return the name of the most accurate model."""
    return max(results, key=lambda result: result.accuracy).model


with couler.Workflow("image-model-selection") as wf:
    data = load()
    models = train.partial(data=data.train).map(model=MODELS)
    results = validate.partial(data=data.validation).map(model=models)
    select(results)
