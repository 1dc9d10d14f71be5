"""etcd, the store of the Kubernetes API."""

from __future__ import annotations

from couler.failures.pattern import Failure, Pattern, sign
from couler.failures.tables.waits import BUSY, QUICK, SLOW

_ERRORS = "https://github.com/etcd-io/etcd/blob/v3.5.21/api/v3rpc/rpctypes/error.go"

PATTERNS = (
    Pattern(
        name="EtcdLeaderChangedErr",
        system="etcd",
        signs=(sign(r"\betcdserver: leader changed\b"),),
        example=Failure("etcdserver: leader changed"),
        means="etcd elected a new leader, and dropped the requests under way",
        retry="always",
        backoff=QUICK,
        advice="If it comes again and again, tell the cluster's administrator: etcd is slow.",
        source=_ERRORS,
    ),
    Pattern(
        name="EtcdNoLeaderErr",
        system="etcd",
        signs=(sign(r"\betcdserver: no leader\b"),),
        example=Failure("rpc error: code = Unavailable desc = etcdserver: no leader"),
        means="etcd has no leader, so it takes no writes",
        retry="after a wait",
        backoff=BUSY,
        advice="Wait; if it lasts, tell the cluster's administrator: most members of etcd are down "
        "or cannot reach each other.",
        source=_ERRORS,
    ),
    Pattern(
        name="EtcdTimeoutErr",
        system="etcd",
        signs=(sign(r"\betcdserver: request timed out\b"),),
        example=Failure("etcdserver: request timed out, possibly due to previous leader failure"),
        means="etcd did not answer the API server in time",
        retry="after a wait",
        backoff=BUSY,
        advice="Wait; if it comes again and again, tell the cluster's administrator.",
        source=_ERRORS,
    ),
    Pattern(
        name="EtcdTooManyRequestsErr",
        system="etcd",
        signs=(sign(r"\betcdserver: too many requests\b"),),
        example=Failure("etcdserver: too many requests"),
        means="etcd has more requests waiting than it takes",
        retry="after a wait",
        backoff=BUSY,
        advice="Run fewer steps at the same time (max_parallel).",
        source=_ERRORS,
    ),
    Pattern(
        name="EtcdExceededQuotaErr",
        system="etcd",
        signs=(sign(r"\betcdserver: mvcc: database space exceeded\b"),),
        example=Failure("etcdserver: mvcc: database space exceeded"),
        means="etcd has reached its space quota, and takes no writes until space is freed",
        retry="after a wait",
        backoff=SLOW,
        advice="Tell the cluster's administrator, who must compact and defragment etcd and disarm "
        "its alarm. Delete workflows that have ended.",
        source="https://etcd.io/docs/v3.5/op-guide/maintenance/#space-quota",
    ),
    Pattern(
        name="EtcdRequestTooLargeErr",
        system="etcd",
        signs=(sign(r"\betcdserver: request is too large\b"),),
        example=Failure("etcdserver: request is too large"),
        means="the object is larger than etcd stores",
        retry="never",
        backoff=None,
        advice="Make the workflow smaller: split it, and pass large values as files.",
        source=_ERRORS,
    ),
)
