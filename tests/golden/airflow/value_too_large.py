with DAG(
    dag_id="value-too-large",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "python:3.12-slim",
    },
    user_defined_macros={"PROCESS": PROCESS},
): ...
fits_2 = KubernetesPodOperator(
    task_id="fits",
    **process(["python", "-c", "print('x' * 65_536)"], outputs=["result=-"]),
)
stdout = KubernetesPodOperator(
    task_id="stdout",
    **process(["python", "-c", "print('x' * 65_537)"], outputs=["result=-"]),
)
file = KubernetesPodOperator(
    task_id="file",
    **process(
        [
            "python",
            "-c",
            "import os; open(os.environ['COULER_WORK'] + '/f', 'w').write('ü' * 32_769)",
        ],
        outputs=["result=-", "f=f"],
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
)
reads = KubernetesPodOperator(
    task_id="reads",
    **process(
        [
            "python",
            "-c",
            "import sys; print(len(sys.argv[1]))",
            '{{ ti.xcom_pull("fits")["result"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
fits_2 >> reads
after = KubernetesPodOperator(
    task_id="after",
    **process(
        ["python", "-c", "", '{{ ti.xcom_pull("stdout")["result"] | replace("$", "$$") }}'],
        outputs=["result=-"],
    ),
)
stdout >> after
