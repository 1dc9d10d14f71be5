ENV = """\
import json, os
print(json.dumps([os.environ["A"], os.environ["COULER_INPUT_b"], "{{=1+1}}"]))
"""

with DAG(
    dag_id="hostile-braces",
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
args = KubernetesPodOperator(
    task_id="args",
    **process(
        [
            "python",
            "-c",
            "import json, sys; print(json.dumps(sys.argv[1:]))",
            literal("{{inputs.parameters.x}}"),
            literal("{{=1+1}}"),
            literal("{{workflow.name}} {{ item }} {{"),
            literal("{% raw %}{{ ds }}{% endraw %}"),
            literal("}} {{{{ {} }}}}"),
        ],
        outputs=["result=-"],
    ),
)
env = KubernetesPodOperator(
    task_id="env",
    **process(["python"], outputs=["result=-"]),
    env_vars={
        "COULER_WORK": "/tmp/couler",
        "COULER_INPUT_b": literal("{{=1+1}}"),
        "A": literal("{{inputs.parameters.x}}"),
        "COULER_SCRIPT": literal(ENV),
    },
)
