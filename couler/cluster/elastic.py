"""What scheduling needs to know of a training job whose number of workers can change."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping
from dataclasses import asdict, dataclass

ANNOTATION = "couler/elastic"
"""Annotation of the resource of such a job."""

_LEAST: Mapping[str, float] = {
    "epochs": 1,
    "chunks": 1,
    "batches": 1,
    "batch_s": 1e-6,
    "workers_per_server": 1,
    "priority": 1e-6,
    "decay_per_h": 0,
    "target_h": 0,
}
"""The least that each can be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elastic:
    """The work and the value of a training job whose number of workers can change as it runs.

    Its program must bear that workers come and go, as elastic PyTorch and Horovod do.

    Attributes
    ----------
    epochs, chunks, batches
        Passes over the data, chunks of the data, and mini-batches of a chunk. No more workers
        than chunks are of use.
    batch_s
        Seconds in which a worker trains a mini-batch and exchanges its gradients.
    workers_per_server
        Workers that a parameter server can take, for jobs that have parameter servers.
    priority
        What the job is worth if it ends early; its utility after some hours is
        ``priority / (1 + exp(decay_per_h * (hours - target_h)))``.
    decay_per_h
        How fast its worth falls around the target; 0 for a job that is worth half its priority
        whenever it ends.
    target_h
        Hours from its arrival in which it should end.

    Examples
    --------
    >>> import couler
    >>> from couler.steps import pytorch
    >>> with couler.Workflow("digits") as wf:
    ...     pytorch.train(
    ...         image="example.org/train:1",
    ...         command=["python", "/srv/train.py"],
    ...         num_workers=1,
    ...         gpu=1,
    ...         elastic=couler.Elastic(epochs=30, chunks=16, batches=50, batch_s=0.4, priority=10),
    ...     )
    <couler step pytorch-train>
    """

    epochs: int
    chunks: int
    batches: int
    batch_s: float
    workers_per_server: float = 1.0
    priority: float = 1.0
    decay_per_h: float = 0.0
    target_h: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no job can be."""
        for name, value in asdict(self).items():
            least = _LEAST[name]
            is_whole = name in ("epochs", "chunks", "batches")
            kinds = int if is_whole else (int, float)
            if not isinstance(value, kinds) or isinstance(value, bool) or not least <= value < 1e12:
                kind = "a whole number" if is_whole else "a number"
                raise ValueError(f"{name} is {value!r}; it must be {kind} of at least {least:g}")

    def to_annotation(self) -> str:
        """Return it as the text of an annotation."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, manifest: Mapping[str, t.Any]) -> Elastic | None:
        """Return what the annotation of a resource states; None if it has none.

        Raises
        ------
        ValueError
            It is no JSON object with these fields.
        """
        try:
            annotations = (manifest.get("metadata") or {}).get("annotations") or {}
            text = annotations.get(ANNOTATION)
            return None if text is None else cls(**json.loads(text))
        except (AttributeError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"the annotation {ANNOTATION}: {error}") from error
