"""Records that hold what is hard to keep: for comparing with what is read back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from couler.state.records import AttemptRecord, CacheDecision, RunRecord, StepRecord

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
DIGEST = "a" * 64
IR = '{"ir_version": 1}'

# Text of a process: hardly ever what its encoding says.
HOSTILE = "line\nü 🙂 \U0001f600 '\"; DROP TABLE runs; -- %s ? :x {{ }} $(x)"
JSON = {
    "text": HOSTILE,
    "half": "\ud800",
    "nul": "\0",
    "big": 2**80,
    "z": [1.5, None, True],
    "a": {},
}

RUN = RunRecord(
    id="train-1",
    workflow="train",
    workflow_digest=DIGEST,
    engine="local",
    created=NOON,
    status="cancelled",
    parameters=JSON,
    logical_date="2026-03-01T00:00:00+01:00",
    started=NOON.astimezone(timezone(timedelta(hours=-9))),
    finished=NOON + timedelta(microseconds=1),
    message=HOSTILE,
    outputs=JSON,
    folder="/data/runs/train 1",
    host="here",
    program="/u/train.py",
)

STEP = StepRecord(
    path="train[2]/fit@1",
    name="fit",
    status="cached",
    finished=NOON,
    session=1,
    ordinal=7,
    item=(2,),
    key="b" * 64,
    outputs=JSON,
    started=NOON,
    attempts=2,
    message=HOSTILE,
    exit_code=-9,
    log="logs/train[2]/fit@1.log",
    source_run="train-0",
)

ATTEMPT = AttemptRecord(
    path="train[2]/fit@1",
    number=2,
    session=1,
    started=NOON,
    status="error",
    finished=NOON + timedelta(days=1),
    exit_code=137,
    message=HOSTILE,
    pid=4_194_304,
    cpu_s=0.1,
    peak_bytes=2**42,
    log="x.log",
    node=HOSTILE,
)

DECISION = CacheDecision("fit", "b" * 64, "rejected", HOSTILE, NOON)
