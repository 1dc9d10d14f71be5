ASKS = """\

cat "$COULER_WORK/prepared" /scratch/kept
printf question > "$COULER_WORK/ask.tmp"
mv "$COULER_WORK/ask.tmp" "$COULER_WORK/ask"
until test -e "$COULER_WORK/answer"; do sleep 0.05; done
cat "$COULER_WORK/answer"
"""
ASKS_2 = """\

test -z "$$(ls "$$COULER_WORK")"
echo "$$0 $$GREETING" > "$$COULER_WORK/prepared"
echo '{{workflow.name}} $$$$ $$(HOME)' > /scratch/kept
"""
ASKS_3 = """\

until test -e "$$COULER_WORK/ask"; do sleep 0.05; done
echo "answer to $$(cat "$$COULER_WORK/ask") $$1" > "$$COULER_WORK/answer.tmp"
mv "$$COULER_WORK/answer.tmp" "$$COULER_WORK/answer"
while true; do sleep 0.05; done
"""
EACH_ITEMS = [{"item": 1}, {"item": 2}]

with DAG(
    dag_id="containers-around",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "busybox:1.36",
    },
    params={"mark": Param("!", type="string")},
    user_defined_macros={"PROCESS": PROCESS, "joined": joined, "BESIDE": BESIDE},
): ...
who = KubernetesPodOperator(
    task_id="who",
    **process(["sh", "-c", "echo you"], outputs=["result=-"]),
)
asks = KubernetesPodOperator(
    task_id="asks",
    **process(["sh", "-c", literal(ASKS)], outputs=["result=-"], beside=["answers"]),
    env_vars={"COULER_WORK": "/tmp/couler"},
    pod_template_dict={
        "spec": {
            "containers": [
                {
                    "name": "base",
                    "volumeMounts": [
                        {"name": "scratch", "mountPath": "/scratch"},
                        {"name": "couler-work", "mountPath": "/tmp/couler"},
                    ],
                },
                ends_with_process(
                    {
                        "name": "answers",
                        "image": "busybox:1.36",
                        "command": ["sh", "-c", literal(ASKS_3)],
                        "args": ["sh", '{{ params["mark"] | replace("$", "$$") }}'],
                        "volumeMounts": [
                            {"name": "scratch", "mountPath": "/scratch"},
                            {"name": "couler-work", "mountPath": "/tmp/couler"},
                        ],
                        "env": [{"name": "COULER_WORK", "value": "/tmp/couler"}],
                    },
                ),
            ],
            "initContainers": [
                {
                    "name": "prepare",
                    "image": "busybox:1.36",
                    "command": ["sh", "-c", literal(ASKS_2)],
                    "args": ["hello"],
                    "env": [
                        {"name": "COULER_WORK", "value": "/tmp/couler"},
                        {
                            "name": "GREETING",
                            "value": '{{ joined("dear ", ti.xcom_pull("who")["result"]) | replace("$", "$$") }}',
                        },
                    ],
                    "volumeMounts": [
                        {"name": "scratch", "mountPath": "/scratch"},
                        {"name": "couler-work", "mountPath": "/tmp/couler"},
                    ],
                },
                {
                    "name": "check",
                    "image": "busybox:1.36",
                    "command": ["sh", "-c", 'grep -q dear "$COULER_WORK/prepared"'],
                    "volumeMounts": [
                        {"name": "scratch", "mountPath": "/scratch"},
                        {"name": "couler-work", "mountPath": "/tmp/couler"},
                    ],
                    "env": [{"name": "COULER_WORK", "value": "/tmp/couler"}],
                },
            ],
            "volumes": [
                {"name": "scratch", "emptyDir": {}},
                {"name": "couler-work", "emptyDir": {}},
            ],
        },
    },
)
who >> asks
# What is expanded is a label; each task reads its item by its map index.
each = KubernetesPodOperator.partial(
    task_id="each",
    **process(["sh", "-c", 'cat "$COULER_WORK/item"'], outputs=["result=-"]),
    env_vars={"COULER_WORK": "/tmp/couler"},
    pod_template_dict={
        "spec": {
            "containers": [
                {
                    "name": "base",
                    "volumeMounts": [{"name": "couler-work", "mountPath": "/tmp/couler"}],
                },
            ],
            "initContainers": [
                {
                    "name": "write",
                    "image": "busybox:1.36",
                    "command": ["sh", "-c", 'echo made > "$COULER_WORK/item"'],
                    "volumeMounts": [{"name": "couler-work", "mountPath": "/tmp/couler"}],
                    "env": [{"name": "COULER_WORK", "value": "/tmp/couler"}],
                },
            ],
            "volumes": [{"name": "couler-work", "emptyDir": {}}],
        },
    },
).expand(labels=[{"couler-item": str(index)} for index in range(len(EACH_ITEMS))])
each_lists = PythonOperator(
    task_id="each-lists",
    python_callable=check_lists,
    op_args=["each", 2, {"result": "str"}],
)
each >> each_lists
