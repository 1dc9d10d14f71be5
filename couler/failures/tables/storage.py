"""Object stores (S3, Google Cloud Storage) and disks, as engines and processes tell of them."""

from __future__ import annotations

from couler.failures.pattern import Failure, Pattern, Sign, sign
from couler.failures.tables.waits import BUSY

_S3 = "https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html"
_GCS = "https://cloud.google.com/storage/docs/retry-strategy"


def _boto(codes: str) -> Sign:
    """Return how the SDK of AWS for Python tells of an error code."""
    return sign(rf"\bAn error occurred \((?:{codes})\) when calling the \w{{1,60}} op", in_log=True)


PATTERNS = (
    Pattern(
        name="SlowDownErr",
        system="storage",
        signs=(
            _boto(
                "SlowDown|Throttling|ThrottlingException|RequestLimitExceeded|RequestThrottled"
                "|TooManyRequestsException"
            ),
            sign(r"\bPlease reduce your request rate\."),
            sign(r"\bgoogleapi: (?:Error|got HTTP response code) 429\b"),
        ),
        example=Failure(
            "botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the "
            "PutObject operation (reached max retries: 4): Please reduce your request rate."
        ),
        means="the object store has more requests than it takes",
        retry="after a wait",
        backoff=BUSY,
        advice="Run fewer steps at the same time (max_parallel), spread files over several "
        "folders, and write fewer, larger files.",
        source="https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html",
    ),
    Pattern(
        name="ClockSkewErr",
        system="storage",
        signs=(
            _boto("RequestTimeTooSkewed"),
            sign(r"\bThe difference between the request time and the \S{1,20} time is too large\b"),
        ),
        example=Failure(
            "wait: Error (exit code 64): failed to put file: The difference between the request "
            "time and the server's time is too large."
        ),
        means="the clock of the node differs too much from that of the object store",
        retry="never",
        backoff=None,
        advice="Have the clock of the node set (NTP).",
        source=_S3,
    ),
    Pattern(
        name="StorageCredentialsErr",
        system="storage",
        signs=(
            _boto(
                "InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken"
                "|TokenRefreshRequired"
            ),
            sign(r"\bNoCredentialsError: Unable to locate credentials\b", in_log=True),
            sign(r"\bThe (?:AWS )?access key ID you provided does not exist in our records\b"),
            sign(r"\bThe AWS Access Key Id you provided does not exist in our records\b"),
            sign(
                r"\bThe request signature we calculated does not match the signature you provided"
            ),
            sign(
                r"\bDefaultCredentialsError: Your default credentials were not found", in_log=True
            ),
            sign(r"\bgoogle: could not find default credentials\b"),
        ),
        example=Failure(
            "botocore.exceptions.ClientError: An error occurred (InvalidAccessKeyId) when calling "
            "the PutObject operation: The AWS Access Key Id you provided does not exist in our "
            "records."
        ),
        means="the object store does not know the credentials, or there are none",
        retry="never",
        backoff=None,
        advice="Correct or renew the secret that holds the keys of the artifact repository.",
        source=_S3,
    ),
    Pattern(
        name="StorageAccessErr",
        system="storage",
        signs=(
            _boto("AccessDenied|AllAccessDisabled|AccountProblem|403"),
            sign(r": Access Denied\.?\Z"),
            sign(r"\bdoes not have storage\.[a-zA-Z]{1,30}\.[a-zA-Z]{1,30} access to the Google\b"),
        ),
        example=Failure(
            "wait: Error (exit code 64): failed to put file: Access Denied.", exit_code=64
        ),
        means="the account may not read or write this place of the object store",
        retry="never",
        backoff=None,
        advice="Have the right granted to the account, or use another bucket or folder.",
        source=_S3,
    ),
    Pattern(
        name="NoSuchBucketErr",
        system="storage",
        signs=(
            _boto("NoSuchBucket"),
            sign(r"\bThe specified bucket does not exist\b"),
            sign(r"\bstorage: bucket doesn't exist\b"),
        ),
        example=Failure("wait: Error (exit code 64): The specified bucket does not exist"),
        means="the bucket does not exist",
        retry="never",
        backoff=None,
        advice="Create the bucket, or correct its name or the address of the store.",
        source=_S3,
    ),
    Pattern(
        name="NoSuchKeyErr",
        system="storage",
        signs=(
            _boto("NoSuchKey|404"),
            sign(r"\bThe specified key does not exist\b"),
            sign(r"\bstorage: object doesn't exist\b"),
        ),
        example=Failure(
            "init: Error (exit code 64): artifact model failed to load: The specified key does "
            "not exist."
        ),
        means="a file that the step reads is not in the object store",
        retry="never",
        backoff=None,
        advice="Check its path. If a step of this workflow made it, it was deleted since: run that "
        "step again.",
        source=_S3,
    ),
    Pattern(
        name="StorageServerErr",
        system="storage",
        signs=(
            _boto("InternalError|ServiceUnavailable|RequestTimeout|500|502|503|504"),
            sign(r"\bWe encountered an internal error\. Please try again\."),
            sign(r"\bgoogleapi: (?:Error|got HTTP response code) 5\d\d\b"),
            sign(r"\bCould not connect to the endpoint URL: \"", in_log=True),
            sign(r"\b(?:Connect|Read) timeout on endpoint URL: \"", in_log=True),
        ),
        example=Failure(
            "wait: Error (exit code 64): googleapi: Error 503: We encountered an internal error. "
            "Please try again., backendError"
        ),
        means="the object store failed for a reason of its own, or cannot be reached",
        retry="after a wait",
        backoff=BUSY,
        advice="If it lasts, look at the status page of the object store.",
        source=_GCS,
    ),
    Pattern(
        name="DiskFullErr",
        system="storage",
        signs=(
            sign(r"\[Errno 28\] No space left on device\b", in_log=True),
            sign(r": [Nn]o space left on device\b", in_log=True),
        ),
        example=Failure(
            "main: Error (exit code 1)",
            exit_code=1,
            log="OSError: [Errno 28] No space left on device: '/tmp/features.parquet'",
        ),
        means="the disk or the volume that the step writes to is full",
        retry="never",
        backoff=None,
        advice="Give the step more disk (resources) or a larger volume, or let it write less.",
        source="https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"
        "#local-ephemeral-storage",
    ),
)
