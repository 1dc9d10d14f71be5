"""The three scenarios of the Couler paper (VI-C) as programs: pods, models, sizes and times.

The paper gives the numbers of pods and of models and what the scenarios are about. Which steps
there are, what they read, how large their outputs are and how long they take is ours: single-GPU
training on some gigabytes of data, so that caches of 10, 20 and 30 GB hold a small part, a good
part and most of what is read again.
"""

from __future__ import annotations

import itertools
import typing as t
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import couler
from couler.ir.quantity import parse_quantity
from couler.ir.workflow import Workflow

GB = 10**9
CACHE_GB = (10, 20, 30)
"""The sizes of caches in the paper's appendix D-B."""

WORKERS = 4
CPUS = 32.0
GPUS = 4.0
"""What the steps run on: as much as four of the largest of them use."""

TRAINING = "train-"
"""How the names of steps begin that train a model."""


Data: t.TypeAlias = t.Any
"""The handle of what a step writes."""


def pod(
    name: str,
    reads: Sequence[Data] = (),
    *,
    gb: float,
    seconds: float,
    cpu: int = 4,
    gpu: int | None = None,
) -> Data:
    """Add a step that reads files and writes one of some gigabytes; return what it writes."""
    step = couler.run_container(
        image="registry.example/scenarios:1",
        command=["run-step", name],
        args=list(reads),
        output={"out": couler.File(f"/work/{name}")},
        step_name=name,
        cpu=cpu,
        gpu=gpu,
        profile={"seconds": seconds, "output_bytes": int(gb * GB)},
    )
    return step.out


def train(model: str, reads: Sequence[Data], *, gb: float, seconds: float) -> Data:
    """Add a step that trains a model on a GPU; return the model."""
    return pod(f"{TRAINING}{model}", reads, gb=gb, seconds=seconds, cpu=8, gpu=1)


def evaluate(what: str, reads: Sequence[Data], *, seconds: float) -> Data:
    """Add a step that tries models on data on a GPU; return its table of figures."""
    return pod(f"evaluate-{what}", reads, gb=0.01, seconds=seconds, cpu=4, gpu=1)


def multimodal_training() -> Workflow:
    """Return models of three kinds of data, of their pairs, and of all: 37 pods, 19 models."""
    sizes = {"text": (4.0, 3.0, 2.0), "images": (9.0, 7.0, 4.0), "sound": (6.0, 5.0, 3.0)}
    with couler.Workflow("multimodal-training") as workflow:
        clean, features, single = {}, {}, {}
        for kind, (raw_gb, clean_gb, features_gb) in sizes.items():
            raw = pod(f"fetch-{kind}", gb=raw_gb, seconds=20 + 8 * raw_gb)
            clean[kind] = pod(f"clean-{kind}", [raw], gb=clean_gb, seconds=60 + 15 * raw_gb, cpu=8)
            features[kind] = pod(
                f"embed-{kind}", [clean[kind]], gb=features_gb, seconds=120, cpu=4, gpu=1
            )
            single[kind] = [
                train(f"{kind}-{number}", [features[kind]], gb=gb, seconds=200 + 90 * gb)
                for number, gb in enumerate((0.4, 0.8, 1.2, 1.6), 1)
            ]
        scores = [evaluate(kind, [*single[kind], clean[kind]], seconds=60) for kind in sizes]
        pairs = []
        for one, other in itertools.combinations(sizes, 2):
            data = [features[one], features[other]]
            fused = [
                train(
                    f"{one}-{other}-{number}",
                    [*data, single[one][number], single[other][number]],
                    gb=2.0,
                    seconds=420,
                )
                for number in (1, 2)
            ]
            pairs += fused
            scores.append(
                evaluate(f"{one}-{other}", [*fused, clean[one], clean[other]], seconds=90)
            )
        joint = train("joint", [*features.values(), *pairs[::2]], gb=3.0, seconds=700)
        scores.append(evaluate("joint", [joint, *clean.values()], seconds=120))
        best = pod("compare", [joint, *pairs, *scores], gb=3.0, seconds=30)
        pod("publish", [best], gb=3.0, seconds=30)
    return workflow.to_ir()


def image_segmentation() -> Workflow:
    """Return models of four architectures on two resolutions: 15 pods, 8 models."""
    with couler.Workflow("image-segmentation") as workflow:
        images = pod("fetch-images", gb=10.0, seconds=100)
        masks = pod("fetch-masks", gb=2.0, seconds=30)
        data = {
            side: pod(f"tile-{side}", [images, masks], gb=gb, seconds=60 + 12 * gb, cpu=8)
            for side, gb in (("512", 8.0), ("1024", 12.0))
        }
        models = [
            train(f"{model}-{side}", [tiles], gb=gb, seconds=240 + 150 * gb)
            for model, gb in (("unet", 0.5), ("fcn", 0.8), ("deeplab", 1.2), ("segformer", 2.0))
            for side, tiles in data.items()
        ]
        scores = evaluate("all", [*models, *data.values()], seconds=180)
        best = pod("ensemble", [scores, *models, masks], gb=4.0, seconds=60, gpu=1)
        pod("publish", [best], gb=4.0, seconds=30)
    return workflow.to_ir()


def language_model_fine_tuning() -> Workflow:
    """Return a model adapted to a domain, and ten fine-tuned for two tasks: 21 pods, 11 models."""
    with couler.Workflow("language-model-fine-tuning") as workflow:
        corpus = pod("fetch-corpus", gb=8.0, seconds=90)
        base = pod("fetch-base-model", gb=7.0, seconds=60)
        clean = pod("clean", [corpus], gb=6.0, seconds=150, cpu=8)
        tokens = pod("tokenize", [clean], gb=4.0, seconds=120, cpu=8)
        adapted = train("adapted", [tokens, base], gb=7.0, seconds=900)
        scores = []
        tuned = []
        for task, gb in (("classification", 2.0), ("sentiment", 1.5)):
            data = pod(f"label-{task}", [clean], gb=gb, seconds=90)
            start = [adapted, data]
            models = [
                train(f"{task}-rank-{rank}", start, gb=0.2 + rank / 80, seconds=300 + 4 * rank)
                for rank in (4, 8, 16, 32, 64)
            ]
            tuned += models
            scores.append(evaluate(task, [adapted, base, data, *models], seconds=150))
        best = pod("merge-best", [*scores, adapted, *tuned], gb=7.0, seconds=60)
        pod("quantize", [best, tokens], gb=2.0, seconds=120, gpu=1)
    return workflow.to_ir()


SCENARIOS: Mapping[str, Callable[[], Workflow]] = MappingProxyType(
    {
        "multimodal training": multimodal_training,
        "image segmentation": image_segmentation,
        "language model fine-tuning": language_model_fine_tuning,
    }
)


def processors(workflow: Workflow) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return how many processors and GPUs each step uses while it computes."""
    asked = [step.resources for step in workflow.steps]
    return (
        tuple(float(parse_quantity(one.cpu or "0")) if one else 0.0 for one in asked),
        tuple(float(one.gpu.count) if one and one.gpu else 0.0 for one in asked),
    )
