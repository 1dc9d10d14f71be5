DATE = """\
import datetime, sys
then = datetime.datetime.fromisoformat(sys.argv[1].replace('Z', '+00:00'))
now = datetime.datetime.now(datetime.timezone.utc)
print(then.utcoffset().total_seconds() == 0, 0 <= (now - then).total_seconds() < 3600)"""

with DAG(
    dag_id="run-facts",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={"PROCESS": PROCESS, "run_time": run_time},
): ...
id_ = KubernetesPodOperator(
    task_id="id",
    **process(
        ["sh", "-c", 'echo "$1"', "sh", '{{ ti.run_id | replace("$", "$$") }}'],
        outputs=["result=-"],
    ),
)
same = KubernetesPodOperator(
    task_id="same",
    **process(
        [
            "sh",
            "-c",
            'test -n "$1" && test "$1" = "$2" && echo same',
            "sh",
            '{{ ti.run_id | replace("$", "$$") }}',
            '{{ ti.xcom_pull("id")["result"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
id_ >> same
date = KubernetesPodOperator(
    task_id="date",
    image="python:3.12-slim",
    **process(["python", "-c", DATE, "{{ run_time(ti) }}"], outputs=["result=-"]),
)
