"""Train three kinds of models, each on the machines that suit it, and pick the best.

    couler run examples/placed_selection/placed_selection.py
    couler plan examples/placed_selection/placed_selection.py -e argo --pass place
    couler compile examples/placed_selection/placed_selection.py -e argo --pass place
    couler compile examples/placed_selection/placed_selection.py -e airflow --pass place \\
        --option files_claim=shared

Machines are those of cluster.yaml beside this program. The data comes with scikit-learn. PyTorch,
which the image of that step has, trains the network, on a GPU where there is one. Where it is not
installed, as it need not be here, scikit-learn trains a network of the same layers.
"""

from typing import NamedTuple

import couler
from couler import File
from couler.operations.models import LogisticRegression, RandomForest
from couler.operations.networks import Dense, NeuralNetwork

IMAGES, PIXELS, HELD_OUT = 1437, 64, 360
"""How many images are trained on, what each of them has, and how many are held out."""

NETWORK = NeuralNetwork((PIXELS,), (Dense(256), Dense(256), Dense(10)), epochs=60)

LEARNING = {"packages": ["scikit-learn"], "timeout": "10m", "env": {"OMP_NUM_THREADS": "1"}}


class Trained(NamedTuple):
    model: File
    accuracy: float


@couler.step(
    **LEARNING,
    cpu=1,
    memory="1Gi",
    profile={"seconds": 3, "output_bytes": 950_000, "task": "preprocessing"},
)
def load(seed: int) -> File:
    """Write the digits, scaled, in two parts."""
    import numpy
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    digits = load_digits()
    train_x, test_x, train_y, test_y = train_test_split(
        digits.data / 16, digits.target, test_size=0.2, random_state=seed, stratify=digits.target
    )
    numpy.savez("digits.npz", train_x=train_x, train_y=train_y, test_x=test_x, test_y=test_y)
    return File("digits.npz")


@couler.step(
    **LEARNING,
    cpu=1,
    memory="1Gi",
    profile={
        "task": "training",
        "model": LogisticRegression.kind,
        "operations": LogisticRegression(iterations=500).training(IMAGES, PIXELS),
    },
)
def linear(data: File) -> Trained:
    import joblib
    import numpy
    from sklearn.linear_model import LogisticRegression as Regression

    parts = numpy.load(data)
    model = Regression(max_iter=500).fit(parts["train_x"], parts["train_y"])
    joblib.dump(model, "linear.joblib")
    return Trained(File("linear.joblib"), float(model.score(parts["test_x"], parts["test_y"])))


@couler.step(
    **LEARNING,
    cpu=2,
    memory="8Gi",
    profile={
        "task": "training",
        "model": RandomForest.kind,
        "operations": RandomForest(trees=300).training(IMAGES, PIXELS),
    },
)
def forest(data: File, seed: int) -> Trained:
    import joblib
    import numpy
    from sklearn.ensemble import RandomForestClassifier

    parts = numpy.load(data)
    model = RandomForestClassifier(n_estimators=300, random_state=seed)
    model.fit(parts["train_x"], parts["train_y"])
    joblib.dump(model, "forest.joblib")
    return Trained(File("forest.joblib"), float(model.score(parts["test_x"], parts["test_y"])))


@couler.step(
    **LEARNING,
    image="pytorch/pytorch:2.4.1-cuda12.1-cudnn9-runtime",
    cpu=2,
    memory="4Gi",
    profile={
        "task": "training",
        "model": NETWORK.kind,
        "operations": NETWORK.training(IMAGES, PIXELS),
    },
)
def network(data: File, seed: int) -> Trained:
    import joblib
    import numpy

    parts = numpy.load(data)
    try:
        import torch
    except ImportError:
        from sklearn.neural_network import MLPClassifier

        model = MLPClassifier((256, 256), max_iter=60, early_stopping=True, random_state=seed)
        model.fit(parts["train_x"], parts["train_y"])
        joblib.dump(model, "network.joblib")
        return Trained(File("network.joblib"), float(model.score(parts["test_x"], parts["test_y"])))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(seed)
    train_x, test_x = (
        torch.tensor(parts[name], dtype=torch.float32, device=device)
        for name in ("train_x", "test_x")
    )
    train_y, test_y = (
        torch.tensor(parts[name], dtype=torch.long, device=device) for name in ("train_y", "test_y")
    )
    layers = torch.nn.Sequential(
        torch.nn.Linear(train_x.shape[1], 256),
        torch.nn.ReLU(),
        torch.nn.Linear(256, 256),
        torch.nn.ReLU(),
        torch.nn.Linear(256, 10),
    ).to(device)
    optimizer = torch.optim.Adam(layers.parameters())
    loss_of = torch.nn.CrossEntropyLoss()
    for _ in range(60):
        for rows in torch.randperm(len(train_x), device=device).split(64):
            optimizer.zero_grad()
            loss_of(layers(train_x[rows]), train_y[rows]).backward()
            optimizer.step()
    with torch.no_grad():
        right = layers(test_x).argmax(dim=1) == test_y
    torch.save(layers.state_dict(), "network.pt")
    return Trained(File("network.pt"), right.double().mean().item())


@couler.step(cpu=1, memory="1Gi", profile={"seconds": 1})
def pick(names: list[str], accuracies: list[float]) -> str:
    best = max(range(len(names)), key=lambda number: accuracies[number])
    return f"{names[best]}: {accuracies[best]:.1%} of the images right"


with couler.Workflow("placed-selection", seed=7) as wf:
    seed = wf.params.seed
    digits = load(seed)
    trained = {
        "linear": linear(digits),
        "forest": forest(digits, seed),
        "network": network(digits, seed),
    }
    best = pick(list(trained), [one.accuracy for one in trained.values()])
    wf.output("best", best)
