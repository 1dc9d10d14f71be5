def work_inputs(ti: Any, params: Any) -> dict[str, Any]:
    return {"a": plain(ti.xcom_pull("quoted")["result"])}


def work_outputs(ti: Any, params: Any) -> dict[str, Any]:
    return {"all": fitting("all", json_or_none(output(ti, "work.inside")))}


with DAG(
    dag_id="types-of-readers",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    user_defined_macros={
        "PROCESS": PROCESS,
        "json_or_none": json_or_none,
        "plain": plain,
        "output": output,
    },
): ...
text = KubernetesPodOperator(
    task_id="text",
    **process(["sh", "-c", "echo word"], outputs=["result=-"]),
)
quoted = KubernetesPodOperator(
    task_id="quoted",
    **process(["sh", "-c", "echo '\"word\"'"], outputs=["result=-"]),
)
number = KubernetesPodOperator(
    task_id="number",
    **process(["sh", "-c", "echo 4"], outputs=["result=-"]),
)
reads = KubernetesPodOperator(
    task_id="reads",
    **process(
        [
            "sh",
            "-c",
            'echo "$COULER_INPUT_a $COULER_INPUT_b $COULER_INPUT_c $COULER_INPUT_d $1"',
            "sh",
            '{{ plain(ti.xcom_pull("quoted")["result"]) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_a": '{{ json_or_none(ti.xcom_pull("text")["result"]) | replace("$", "$$") }}',
        "COULER_INPUT_b": '{{ ti.xcom_pull("quoted")["result"] | replace("$", "$$") }}',
        "COULER_INPUT_c": '{{ plain(ti.xcom_pull("quoted")["result"]) | replace("$", "$$") }}',
        "COULER_INPUT_d": '{{ ti.xcom_pull("number")["result"] | replace("$", "$$") }}',
    },
)
[text, quoted, number] >> reads
with TaskGroup("work") as work:
    work_when = PythonOperator(task_id="when", python_callable=work_inputs, do_xcom_push=False)
    inside = KubernetesPodOperator(
        task_id="inside",
        **process(
            [
                "sh",
                "-c",
                'echo "$1 $2"',
                "sh",
                '{{ plain(ti.xcom_pull("quoted")["result"]) | replace("$", "$$") }}',
                '{{ plain(json_or_none(ti.xcom_pull("text")["result"])) | replace("$", "$$") }}',
            ],
            outputs=["result=-"],
        ),
    )
    work_when >> inside
    work_end = PythonOperator(task_id="end", python_callable=work_outputs)
    [inside, work_when] >> work_end
[quoted, text] >> work
end = KubernetesPodOperator(
    task_id="end",
    **process(
        [
            "sh",
            "-c",
            'echo "$1"',
            "sh",
            '{{ plain(output(ti, "work.end", "all")) | replace("$", "$$") }}',
        ],
        outputs=["result=-"],
    ),
)
work >> end
