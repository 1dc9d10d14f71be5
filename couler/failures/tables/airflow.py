"""Airflow: its scheduler, its executors, and the operator that runs pods."""

from __future__ import annotations

from couler.failures.pattern import Failure, Pattern, sign
from couler.failures.tables.waits import BUSY, QUICK, SLOW

_CORE = "https://github.com/apache/airflow/blob/3.3.2/airflow-core/src/airflow"
_SCHEDULER = f"{_CORE}/jobs/scheduler_job_runner.py"
_SUPERVISOR = (
    "https://github.com/apache/airflow/blob/3.3.2/task-sdk/src/airflow/sdk/execution_time/"
    "supervisor.py"
)
_PODS = (
    "https://github.com/apache/airflow/blob/providers-cncf-kubernetes/10.25.0/providers/cncf/"
    "kubernetes/src/airflow/providers/cncf/kubernetes"
)

PATTERNS = (
    Pattern(
        name="AirflowHeartbeatErr",
        system="airflow",
        signs=(sign(r"\bTask did not emit heartbeat within time limit \("),),
        example=Failure(
            "Task did not emit heartbeat within time limit (300 seconds) and will be terminated. "
            "See https://airflow.apache.org/docs/apache-airflow/stable/core-concepts/tasks.html"
            "#task-instance-heartbeat-timeout"
        ),
        means="the worker that ran the task was lost, or too busy to say that it lives",
        retry="always",
        backoff=QUICK,
        advice="Look for a worker that was ended, mostly for its memory. Give workers more memory, "
        "or raise task_instance_heartbeat_timeout.",
        source=_SCHEDULER,
    ),
    Pattern(
        name="AirflowQueuedErr",
        system="airflow",
        signs=(
            sign(r"\bTask was requeued more than \d{1,9} times and will be failed\."),
            sign(r"\bTask requeue attempts exceeded max; marking failed\."),
        ),
        example=Failure("Task was requeued more than 2 times and will be failed."),
        means="the executor did not begin the task in time, however often it was queued",
        retry="after a wait",
        backoff=SLOW,
        advice="Start more workers, or find out why the executor takes no tasks; "
        "task_queued_timeout is how long it may take.",
        source=_SCHEDULER,
    ),
    Pattern(
        name="AirflowExecutorErr",
        system="airflow",
        signs=(
            sign(
                r"\bExecutor \S{1,150} reported that the task instance .{1,900} finished with "
                r"state (?:failed|success|queued), but the task instance's state attribute is "
            ),
        ),
        example=Failure(
            "Executor LocalExecutor(parallelism=32) reported that the task instance <TaskInstance: "
            "train.fit manual__2026-01-01 [queued]> finished with state failed, but the task "
            "instance's state attribute is queued. Learn more: https://airflow.apache.org/docs/"
            "apache-airflow/stable/troubleshooting.html#task-state-changed-externally"
        ),
        means="the process of the task ended before it could tell Airflow how",
        retry="after a wait",
        backoff=BUSY,
        advice="Look into the log of the worker: mostly the process was killed for its memory, or "
        "could not load the DAG file.",
        source=_SCHEDULER,
    ),
    Pattern(
        name="AirflowApiServerErr",
        system="airflow",
        signs=(
            sign(
                r"\bAPI_SERVER_ERROR: \{'status_code': (?:None|5\d\d|429), 'message': ",
            ),
        ),
        example=Failure(
            "API_SERVER_ERROR: {'status_code': None, 'message': '[Errno 111] Connection refused', "
            "'exception_type': 'ConnectError'}"
        ),
        means="the task could not reach Airflow's API server, to which it tells how it goes",
        retry="after a wait",
        backoff=BUSY,
        advice="If it comes again, look whether the API server runs and has time to answer.",
        source=_SUPERVISOR,
    ),
    Pattern(
        name="AirflowStateErr",
        system="airflow",
        signs=(
            sign(
                r"\bAPI_SERVER_ERROR: \{'status_code': 409, .{1,200}\bTI was not in the running "
                r"state so it cannot be updated\b",
            ),
            sign(r"\bServer indicated the task shouldn't be running anymore\."),
        ),
        example=Failure(
            "API_SERVER_ERROR: {'status_code': 409, 'message': 'Server returned error', 'detail': "
            "{'detail': {'reason': 'invalid_state', 'message': 'TI was not in the running state so "
            "it cannot be updated', 'previous_state': 'failed'}}}"
        ),
        means="the task was ended from outside, with its run or by somebody's hand, while "
        "its process went on",
        retry="never",
        backoff=None,
        advice="Nothing is wrong with the step. `couler retry` runs it again.",
        source=_SUPERVISOR,
    ),
    Pattern(
        name="PodLaunchTimeoutErr",
        system="airflow",
        signs=(
            sign(
                r"\bPod took too long to (?:start\. More than \d{1,9}s"
                r"|be scheduled on the cluster, giving up\. More than \d{1,9}s)\."
            ),
        ),
        example=Failure(
            "Pod took too long to start. More than 120s. Check the pod events in kubernetes."
        ),
        means="the pod did not run in the time that Airflow waits for it",
        retry="after a wait",
        backoff=SLOW,
        advice="Look at the pod's events: its image is large, or no node has room for it.",
        source=f"{_PODS}/utils/pod_manager.py",
    ),
    Pattern(
        name="XcomSidecarErr",
        system="airflow",
        signs=(
            sign(r"\bXcom sidecar container (?:did not start within|is already terminated!)"),
            sign(r"\bFailed to extract xcom from pod: \S{1,253}$"),
            sign(r"\bcontainer is not running! Not possible to read xcom from pod: \S{1,253}$"),
        ),
        example=Failure(
            "airflow.exceptions.AirflowException: Xcom sidecar container did not start within "
            "15 minutes."
        ),
        means="the container beside the process that hands over its outputs cannot be reached",
        retry="after a wait",
        backoff=BUSY,
        advice="Look at the pod's events: the image of the sidecar cannot be pulled, or its node "
        "was lost.",
        source=f"{_PODS}/utils/pod_manager.py",
    ),
    Pattern(
        name="PodCredentialsExpiredErr",
        system="airflow",
        signs=(sign(r"\bKubernetes credentials expired, retrying after refresh\."),),
        example=Failure("Kubernetes credentials expired, retrying after refresh."),
        means="the credentials by which Airflow speaks to the cluster ran out during the task",
        retry="always",
        backoff=QUICK,
        advice="If it comes again and again, have the administrator of Airflow renew them.",
        source=f"{_PODS}/operators/pod.py",
    ),
    Pattern(
        name="AirflowTaskTimeoutErr",
        system="airflow",
        signs=(
            sign(r"^[\w.]{0,120}\bAirflowTaskTimeout(?:: |$)", in_log=True),
            sign(r"\ATimeout, PID: \d{1,10}\Z"),
        ),
        example=Failure("airflow.sdk.exceptions.AirflowTaskTimeout: Timeout, PID: 4711"),
        means="the step took longer than it may",
        retry="never",
        backoff=None,
        advice="Give the step more time (timeout), or less to do.",
        source="https://airflow.apache.org/docs/apache-airflow/stable/core-concepts/tasks.html"
        "#timeouts",
    ),
    Pattern(
        name="AirflowTokenErr",
        system="airflow",
        signs=(
            sign(r"\bInvalid (?:JWT|auth) token\b", http=(401, 403)),
            sign(r'\A\{"detail": ?"(?:Invalid JWT token|Not authenticated)"\}\Z'),
        ),
        example=Failure('{"detail":"Invalid JWT token"}', http_status=403),
        means="the token by which Airflow is asked has expired or is not one of its own",
        retry="never",
        backoff=None,
        advice="Get a new token, as the target's credentials say.",
        source="https://airflow.apache.org/docs/apache-airflow/stable/security/api.html",
    ),
    Pattern(
        name="AirflowExistsErr",
        system="airflow",
        signs=(
            sign(r"\bUnique constraint violation\b", http=409),
            sign(r"\"reason\": ?\"Unique constraint violation\""),
        ),
        example=Failure(
            '{"detail":{"reason":"Unique constraint violation","statement":"hidden",'
            '"orig_error":"hidden","message":"Serious error when handling your request. Check logs '
            'for more details - you will find it in api server when you look for ID 3XHvN2ax"}}',
            http_status=409,
        ),
        means="there is something of that name already, such as a run of the DAG",
        retry="never",
        backoff=None,
        advice="Give the run another name, or delete the one that is there.",
        source=f"{_CORE}/api_fastapi/common/exceptions.py",
    ),
)
