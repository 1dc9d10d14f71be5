"""The API server of Kubernetes: what it answers, whatever was asked of it."""

from __future__ import annotations

from couler.failures.pattern import Failure, Pattern, sign
from couler.failures.tables.waits import BUSY, FEW, QUICK, SLOW

_STATUS = (
    "https://github.com/kubernetes/apimachinery/blob/kubernetes-1.33.1/pkg/api/errors/errors.go"
)

QUOTAS = (
    Pattern(
        name="ExceededQuotaErr",
        system="kubernetes",
        signs=(
            sign(r"\bexceeded quota: \S{1,253}, requested: ", http=403),
            sign(r" is forbidden: exceeded quota: \S{1,253}, requested: "),
        ),
        example=Failure(
            'pods "train-1234" is forbidden: exceeded quota: compute, requested: '
            "requests.cpu=4, used: requests.cpu=30, limited: requests.cpu=32",
            reason="Forbidden",
            http_status=403,
        ),
        means="the namespace has used up its quota of resources",
        retry="after a wait",
        backoff=SLOW,
        advice="Wait until other steps have ended, ask for less (resources), run fewer steps at "
        "the same time (max_parallel), or have the quota raised.",
        source="https://kubernetes.io/docs/concepts/policy/resource-quotas/",
    ),
    Pattern(
        name="QuotaConflictErr",
        system="kubernetes",
        signs=(sign(r"\bOperation cannot be fulfilled on resourcequotas? \""),),
        example=Failure(
            'Operation cannot be fulfilled on resourcequotas "compute": the object has been '
            "modified; please apply your changes to the latest version and try again",
            reason="Conflict",
            http_status=409,
        ),
        means="several pods were counted against the quota at the same moment",
        retry="always",
        backoff=QUICK,
        advice="If it comes again and again, run fewer steps at the same time (max_parallel).",
        source="https://github.com/kubernetes/kubernetes/issues/67761",
    ),
    Pattern(
        name="QuotaTimeoutErr",
        system="kubernetes",
        signs=(sign(r"\bresource quota evaluation timed out\b"),),
        example=Failure(
            "Internal error occurred: resource quota evaluation timed out",
            reason="InternalError",
            http_status=500,
        ),
        means="the API server could not check the quota in time",
        retry="after a wait",
        backoff=BUSY,
        advice="Run fewer steps at the same time (max_parallel).",
        source="https://github.com/argoproj/argo-workflows/blob/v4.0.7/util/errors/errors.go",
    ),
)

ANSWERS = (
    Pattern(
        name="ResourceExpiredErr",
        system="kubernetes",
        signs=(
            sign(http=410),
            sign(reason=("Expired", "Gone")),
            sign(r"\btoo old resource version: \d{1,20} \(\d{1,20}\)"),
        ),
        example=Failure("too old resource version: 1000 (2000)", reason="Expired", http_status=410),
        means="the server no longer has the changes since the version that was asked for",
        retry="always",
        backoff=QUICK,
        advice="Nothing: what is watched is listed anew.",
        source="https://kubernetes.io/docs/reference/using-api/api-concepts/"
        "#efficient-detection-of-changes",
    ),
    Pattern(
        name="AdmissionWebhookErr",
        system="kubernetes",
        signs=(sign(r"\bfailed calling webhook \"[^\"\n]{1,253}\": "),),
        example=Failure(
            'Internal error occurred: failed calling webhook "pods.example.com": failed to call '
            'webhook: Post "https://hook.example.svc:443/mutate?timeout=10s": context deadline '
            "exceeded",
            reason="InternalError",
            http_status=500,
        ),
        means="a webhook that must agree to new objects did not answer",
        retry="after a wait",
        backoff=BUSY,
        advice="If it lasts, tell the cluster's administrator which webhook it is.",
        source="https://kubernetes.io/docs/reference/access-authn-authz/"
        "extensible-admission-controllers/#failure-policy",
    ),
    Pattern(
        name="AdmissionDeniedErr",
        system="kubernetes",
        signs=(
            sign(r"\badmission webhook \"[^\"\n]{1,253}\" denied the request\b"),
            sign(r" is forbidden: violates PodSecurity \""),
            sign(
                r" is forbidden: \[?(?:maximum|minimum) \S{1,253} usage per (?:Container|Pod) is "
            ),
            sign(
                r"\bValidatingAdmissionPolicy '[^'\n]{1,253}' with binding '[^'\n]{1,253}' denied "
            ),
        ),
        example=Failure(
            'pods "train-1234" is forbidden: violates PodSecurity "restricted:latest": '
            'allowPrivilegeEscalation != false (container "main" must set '
            "securityContext.allowPrivilegeEscalation=false)",
            reason="Forbidden",
            http_status=403,
        ),
        means="a rule of the cluster forbids the object as it is",
        retry="never",
        backoff=None,
        advice="Change the step as the message says: its resources, or its security settings (pod, "
        "container).",
        source="https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/",
    ),
    Pattern(
        name="NamespaceTerminatingErr",
        system="kubernetes",
        signs=(sign(r"\bunable to create new content in namespace \S{1,63} because it is being "),),
        example=Failure(
            'pods "train-1234" is forbidden: unable to create new content in namespace team '
            "because it is being terminated",
            reason="Forbidden",
            http_status=403,
        ),
        means="the namespace is being deleted",
        retry="never",
        backoff=None,
        advice="Use another namespace, or create it anew once it is gone.",
        source="https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/",
    ),
    Pattern(
        name="ServiceAccountErr",
        system="kubernetes",
        signs=(
            sign(
                r"\berror looking up service account \S{1,320}: serviceaccount \"\S{1,253}\" "
                r"not found"
            ),
        ),
        example=Failure(
            'pods "train-1234" is forbidden: error looking up service account team/couler: '
            'serviceaccount "couler" not found',
            reason="Forbidden",
            http_status=403,
        ),
        means="the service account that the pod is to run as does not exist in the namespace",
        retry="never",
        backoff=None,
        advice="Create the service account, or name another one.",
        source="https://kubernetes.io/docs/concepts/security/service-accounts/",
    ),
    Pattern(
        name="ForbiddenErr",
        system="kubernetes",
        signs=(
            sign(
                r" is forbidden: User \"[^\"\n]{1,512}\" cannot "
                r"[a-z]{1,20} (?:resource|path|API group)"
            ),
            sign(http=403),
            sign(reason="Forbidden"),
        ),
        example=Failure(
            'pods is forbidden: User "system:serviceaccount:team:default" cannot create resource '
            '"pods" in API group "" in the namespace "team"',
            reason="Forbidden",
            http_status=403,
        ),
        means="the account has no right to what is asked",
        retry="never",
        backoff=None,
        advice="Have the right that the message names granted to the account, or use another one.",
        source="https://kubernetes.io/docs/reference/access-authn-authz/rbac/",
    ),
    Pattern(
        name="UnauthorizedErr",
        system="kubernetes",
        signs=(
            sign(http=401),
            sign(reason="Unauthorized"),
            sign(r"\A(?:error: )?Unauthorized\Z"),
            sign(r"\Athe server has asked for the client to provide credentials\b"),
        ),
        example=Failure("Unauthorized", reason="Unauthorized", http_status=401),
        means="the server does not know who asks: a credential is missing, wrong or has expired",
        retry="never",
        backoff=None,
        advice="Renew the credential that the target names, for example by logging in again.",
        source="https://kubernetes.io/docs/reference/access-authn-authz/authentication/",
    ),
    Pattern(
        name="AlreadyExistsErr",
        system="kubernetes",
        signs=(
            sign(reason="AlreadyExists"),
            sign(r"\A[a-z0-9.]{1,253} \"\S{1,253}\" already exists\Z"),
        ),
        example=Failure(
            'workflows.argoproj.io "train-1234" already exists',
            reason="AlreadyExists",
            http_status=409,
        ),
        means="there is an object of that name already",
        retry="never",
        backoff=None,
        advice="Give it another name, or delete the one that is there.",
        source=_STATUS,
    ),
    Pattern(
        name="ConflictErr",
        system="kubernetes",
        signs=(
            sign(reason="Conflict"),
            sign(r"\bOperation cannot be fulfilled on [a-z0-9.]{1,253} \""),
        ),
        example=Failure(
            'Operation cannot be fulfilled on workflows.argoproj.io "train-1234": the object has '
            "been modified; please apply your changes to the latest version and try again",
            reason="Conflict",
            http_status=409,
        ),
        means="somebody else changed the object at the same moment",
        retry="always",
        backoff=QUICK,
        advice="If it comes again and again, find out who else changes the object.",
        source=_STATUS,
    ),
    Pattern(
        name="RequestTooLargeErr",
        system="kubernetes",
        signs=(
            sign(http=413),
            sign(reason="RequestEntityTooLarge"),
            sign(r"\bRequest entity too large: limit is \d{1,12}\b"),
        ),
        example=Failure(
            "Request entity too large: limit is 3145728",
            reason="RequestEntityTooLarge",
            http_status=413,
        ),
        means="the object is larger than the server takes",
        retry="never",
        backoff=None,
        advice="Make the workflow smaller: split it, and pass large values as files.",
        source=_STATUS,
    ),
    Pattern(
        name="MissingKindErr",
        system="kubernetes",
        signs=(
            sign(r"\bno matches for kind \"\w{1,100}\" in (?:version|group) \"\S{1,253}\""),
            sign(r"\Athe server could not find the requested resource\b"),
        ),
        example=Failure('no matches for kind "PyTorchJob" in version "kubeflow.org/v1"'),
        means="the cluster does not know this kind of resource",
        retry="never",
        backoff=None,
        advice="Have the operator installed that defines the kind, such as Argo Workflows or the "
        "Kubeflow Training Operator, or use the version that the cluster has.",
        source="https://github.com/kubernetes/apimachinery/blob/kubernetes-1.33.1/pkg/api/meta/"
        "errors.go",
    ),
    Pattern(
        name="InvalidObjectErr",
        system="kubernetes",
        signs=(
            sign(http=422),
            sign(reason="Invalid"),
            sign(r"\A[A-Za-z0-9.]{1,253} \"\S{1,253}\" is invalid: "),
        ),
        example=Failure(
            'Pod "train-1234" is invalid: spec.containers[0].resources.requests: Invalid value: '
            '"4Gi": must be less than or equal to memory limit of 2Gi',
            reason="Invalid",
            http_status=422,
        ),
        means="the server refuses the object, as a field of it is wrong",
        retry="never",
        backoff=None,
        advice="Correct the field that the message names.",
        source=_STATUS,
    ),
    Pattern(
        name="TooManyRequestsErr",
        system="kubernetes",
        signs=(
            sign(http=429),
            sign(reason="TooManyRequests"),
            sign(r"\bthe server has received too many requests and has asked us to try again"),
            sign(r"\AToo many requests: "),
        ),
        example=Failure(
            "the server has received too many requests and has asked us to try again later",
            reason="TooManyRequests",
            http_status=429,
        ),
        means="the server has more requests than it takes, and turned this one away",
        retry="after a wait",
        backoff=BUSY,
        advice="Run fewer steps and watch fewer runs at the same time.",
        source="https://kubernetes.io/docs/concepts/cluster-administration/flow-control/",
    ),
    Pattern(
        name="ServerTimeoutErr",
        system="kubernetes",
        signs=(
            sign(http=(408, 504)),
            sign(reason=("ServerTimeout", "Timeout")),
            sign(
                r"\bThe \S{1,30} operation against \S{1,253} could not be completed at this time, "
                r"please try again\."
            ),
            sign(r"\bTimeout: request did not complete within\b"),
            sign(r"\bthe server was unable to return a response in the time allotted\b"),
        ),
        example=Failure(
            "The create operation against pods could not be completed at this time, please try "
            "again.",
            reason="ServerTimeout",
            http_status=500,
        ),
        means="the server did not finish the request in time",
        retry="after a wait",
        backoff=BUSY,
        advice="If it lasts, tell the administrator: the server, or its store, is overloaded.",
        source=_STATUS,
    ),
    Pattern(
        name="ServiceUnavailableErr",
        system="kubernetes",
        signs=(
            sign(http=(502, 503)),
            sign(reason="ServiceUnavailable"),
            sign(r"\bthe server is currently unable to handle the request\b"),
            sign(r"\bapiserver not ready\b"),
        ),
        example=Failure(
            "the server is currently unable to handle the request",
            reason="ServiceUnavailable",
            http_status=503,
        ),
        means="the server, or what it asks in turn, is down or being restarted",
        retry="after a wait",
        backoff=BUSY,
        advice="Wait; if it lasts, tell the administrator.",
        source=_STATUS,
    ),
    Pattern(
        name="InternalServerErr",
        system="kubernetes",
        signs=(
            sign(http=500),
            sign(reason="InternalError"),
            sign(r"\AInternal error occurred: "),
        ),
        example=Failure(
            "Internal error occurred: unexpected response: 500",
            reason="InternalError",
            http_status=500,
        ),
        means="the server failed for a reason of its own",
        retry="after a wait",
        backoff=FEW,
        advice="If it comes again, tell the administrator: the log of the server says more.",
        source=_STATUS,
    ),
)
