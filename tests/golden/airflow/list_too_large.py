FITS_2_ITEMS = [{"item": 49000}, {"item": 49000}]
LARGE_ITEMS = [{"item": 50000}, {"item": 50000}]

with DAG(
    dag_id="list-too-large",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "python:3.12-slim",
    },
    user_defined_macros={
        "FITS_2_ITEMS": FITS_2_ITEMS,
        "PROCESS": PROCESS,
        "LARGE_ITEMS": LARGE_ITEMS,
        "gathered": gathered,
    },
): ...
# What is expanded is a label; each task reads its item by its map index.
fits_2 = KubernetesPodOperator.partial(
    task_id="fits",
    **process(
        [
            "python",
            "-c",
            "import sys; print('x' * int(sys.argv[1]))",
            '{{ FITS_2_ITEMS[ti.map_index]["item"] }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=[{"couler-item": str(index)} for index in range(len(FITS_2_ITEMS))])
fits_2_lists = PythonOperator(
    task_id="fits-lists",
    python_callable=check_lists,
    op_args=["fits", 2, {"result": "str"}],
)
fits_2 >> fits_2_lists
# What is expanded is a label; each task reads its item by its map index.
large = KubernetesPodOperator.partial(
    task_id="large",
    **process(
        [
            "python",
            "-c",
            "import sys; print('x' * int(sys.argv[1]))",
            '{{ LARGE_ITEMS[ti.map_index]["item"] }}',
        ],
        outputs=["result=-"],
    ),
).expand(labels=[{"couler-item": str(index)} for index in range(len(LARGE_ITEMS))])
large_lists = PythonOperator(
    task_id="large-lists",
    python_callable=check_lists,
    op_args=["large", 2, {"result": "str"}],
)
large >> large_lists
after = KubernetesPodOperator(
    task_id="after",
    **process(
        ["python", "-c", "", '{{ gathered(ti, "large", "result", 2) | replace("$", "$$") }}'],
        outputs=["result=-"],
    ),
)
large_lists >> after
