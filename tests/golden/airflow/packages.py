CHECK = """\

import pydantic
assert pydantic.TypeAdapter(int).validate_python("3") == 3
"""

with DAG(
    dag_id="packages",
    user_defined_macros={"PROCESS": PROCESS},
): ...
check = KubernetesPodOperator(
    task_id="check",
    image="python:3.12-slim",
    **process(with_packages(["pydantic>=2,<3"], ["python"])),
    env_vars={"COULER_SCRIPT": literal(CHECK)},
)
