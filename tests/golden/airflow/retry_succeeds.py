with DAG(
    dag_id="retry-succeeds",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"shared": Param(type="string")},
    user_defined_macros={"PROCESS": PROCESS},
): ...
flaky = KubernetesPodOperator(
    task_id="flaky",
    **process(
        [
            "sh",
            "-c",
            'test ! -e "$$COULER_WORK/mark" || exit 9; touch "$$COULER_WORK/mark"; echo x >> "$$1/count"; test $$(wc -l < "$$1/count") -eq 3 && echo at last',
            "sh",
            '{{ params["shared"] | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
    env_vars={"COULER_WORK": "/tmp/couler"},
    retries=2,
    retry_delay=timedelta(seconds=0.01),
    retry_exponential_backoff=2,
)
after = KubernetesPodOperator(
    task_id="after",
    **process(["sh", "-c", "true"], outputs=["result=-"]),
)
flaky >> after
