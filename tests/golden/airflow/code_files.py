CODE_SHOP_PRICING_PY = """\
from pathlib import Path

WORDS = (Path(__file__).parent / "data" / "words.txt").read_text().split()


def total(x):
    return x * len(WORDS)
"""
PARTS = """\
from shop.pricing import WORDS
import _top
print(WORDS, _top.TEXT)
"""
OTHER = """\
import importlib.util
print(importlib.util.find_spec('shop'))
"""
CODE = {
    "code/top.py": literal("TEXT = 'é {x} $(HOME) $$ {{a}}\\t'\r\n"),
    "code/shop.__init__.py": literal("from .pricing import total\n"),
    "code/shop.data.words.txt": "good\nbad",
    "code/shop.pricing.py": literal(CODE_SHOP_PRICING_PY),
}
POD_TEMPLATE = {
    "spec": {
        "containers": [
            {
                "name": "base",
                "volumeMounts": [
                    {"name": "couler-code", "mountPath": "/couler/code", "readOnly": True},
                ],
            },
        ],
        "volumes": [
            {
                "name": "couler-code",
                "downwardAPI": {
                    "items": [
                        {
                            "path": "_top.py",
                            "fieldRef": {"fieldPath": "metadata.annotations['code/top.py']"},
                        },
                        {
                            "path": "shop/__init__.py",
                            "fieldRef": {
                                "fieldPath": "metadata.annotations['code/shop.__init__.py']",
                            },
                        },
                        {
                            "path": "shop/data/words.txt",
                            "fieldRef": {
                                "fieldPath": "metadata.annotations['code/shop.data.words.txt']",
                            },
                        },
                        {
                            "path": "shop/pricing.py",
                            "fieldRef": {
                                "fieldPath": "metadata.annotations['code/shop.pricing.py']",
                            },
                        },
                    ],
                },
            },
        ],
    },
}

with DAG(
    dag_id="code-files",
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
whole_2 = KubernetesPodOperator(
    task_id="whole",
    **process(["python"], outputs=["result=-"]),
    env_vars={
        "PYTHONPATH": "/couler/code",
        "COULER_SCRIPT": literal("import shop\nprint(shop.total(2))\n"),
    },
    annotations=CODE,
    pod_template_dict=POD_TEMPLATE,
)
parts_2 = KubernetesPodOperator(
    task_id="parts",
    **process(["python"], outputs=["result=-"]),
    env_vars={"PYTHONPATH": "/couler/code", "COULER_SCRIPT": literal(PARTS)},
    annotations=CODE,
    pod_template_dict=POD_TEMPLATE,
)
other = KubernetesPodOperator(
    task_id="other",
    **process(["python"], outputs=["result=-"]),
    env_vars={"COULER_SCRIPT": literal(OTHER)},
)
