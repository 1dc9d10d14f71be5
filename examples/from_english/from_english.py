"""I need to design a workflow to select the optimal image classification model. Load the
CIFAR-10 images, and train three models on the same training and validation data:
ResNet, ViT and DenseNet, each on one GPU for 10 epochs. Validate each of them, compare
their accuracies, and select the best one.
"""

from typing import NamedTuple

import couler
from couler import File


class Images(NamedTuple):
    train: File
    validation: File


@couler.step(packages=["torch", "torchvision"], memory="4Gi", retry=2)
def load_images() -> Images:
    import torch
    from torchvision.datasets import CIFAR10

    for name, is_train in (("train", True), ("validation", False)):
        part = CIFAR10("cifar", train=is_train, download=True)
        pixels = torch.tensor(part.data).permute(0, 3, 1, 2).float() / 255
        torch.save((pixels, torch.tensor(part.targets)), f"{name}.pt")
    return Images(File("train.pt"), File("validation.pt"))


class Trained(NamedTuple):
    architecture: str
    model: File


@couler.step(packages=["torch", "torchvision"], cpu=4, memory="16Gi", gpu=1, timeout="4h")
def train(architecture: str, data: File, epochs: int) -> Trained:
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    from torchvision import models

    builders = {
        "ResNet": models.resnet18,
        "ViT": models.vit_b_16,
        "DenseNet": models.densenet121,
    }
    device = "cuda" if torch.cuda.is_available() else "cpu"
    size = {"image_size": 32} if architecture == "ViT" else {}
    network = builders[architecture](num_classes=10, **size).to(device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    batches = DataLoader(TensorDataset(*torch.load(data)), batch_size=256, shuffle=True)
    for _ in range(epochs):
        for pixels, labels in batches:
            optimizer.zero_grad()
            predicted = network(pixels.to(device))
            loss = torch.nn.functional.cross_entropy(predicted, labels.to(device))
            loss.backward()
            optimizer.step()
    torch.save(network.cpu(), "model.pt")
    return Trained(architecture, File("model.pt"))


@couler.step(packages=["torch", "torchvision"], cpu=2, memory="8Gi")
def validate(model: File, data: File) -> float:
    import torch

    network = torch.load(model, weights_only=False).eval()
    pixels, labels = torch.load(data)
    with torch.no_grad():
        predicted = torch.cat([network(some).argmax(1) for some in pixels.split(500)])
    return float((predicted == labels).float().mean())


@couler.step
def compare(architectures: list[str], accuracies: list[float]) -> str:
    ranked = sorted(zip(accuracies, architectures, strict=True), reverse=True)
    return "\n".join(f"{name:<10}{accuracy:.2%}" for accuracy, name in ranked)


class Best(NamedTuple):
    architecture: str
    accuracy: float
    model: File


@couler.step
def select(architectures: list[str], accuracies: list[float], models: list[File]) -> Best:
    best = max(range(len(accuracies)), key=lambda index: accuracies[index])
    return Best(architectures[best], accuracies[best], models[best])


with couler.Workflow("select-image-classifier", epochs=10) as wf:
    # load_images
    images = load_images()
    # train_models
    trained = train.partial(data=images.train, epochs=wf.params.epochs).map(
        architecture=["ResNet", "ViT", "DenseNet"]
    )
    # validate_models
    accuracies = validate.partial(data=images.validation).map(model=trained.model)
    # compare_models
    comparison = compare(trained.architecture, accuracies)
    # select_model
    best = select(trained.architecture, accuracies, trained.model)
    wf.output("comparison", comparison)
    wf.output("architecture", best.architecture)
    wf.output("accuracy", best.accuracy)
    wf.output("model", best.model)
