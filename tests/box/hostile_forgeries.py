"""Hostile programs that forge the result of their build, or use Couler for what it is not."""

from __future__ import annotations

from tests.box.hostile import hostile

_FORGED = """
        import json, os
        def give(content):
            for number in range(3, 64):
                try:
                    if os.fstat(number).st_ino != os.fstat(1).st_ino:
                        while content:
                            content = content[os.write(number, content):]
                except OSError:
                    continue
            os._exit(0)
"""

FORGERIES = [
    hostile(
        "pickle as the result",
        "CLR603",
        "CLR624",
        _FORGED
        + """
        import pickle
        give(pickle.dumps(print))
    """,
        alone=True,
    ),
    hostile(
        "nested JSON as the result",
        "CLR603",
        "CLR624",
        _FORGED
        + """
        give(b"[" * 1_000_000)
    """,
        alone=True,
    ),
    hostile(
        "other JSON as the result",
        "CLR603",
        "CLR624",
        _FORGED
        + """
        give(b'{"workflow": {"name": 3, "ir_version": "1"}, "diagnostics": []}')
    """,
        alone=True,
    ),
    hostile(
        "NaN in the result",
        "CLR603",
        "CLR624",
        _FORGED
        + """
        give(b'{"workflow": NaN, "diagnostics": []}')
    """,
        alone=True,
    ),
    hostile(
        "number of many digits in the result",
        "CLR603",
        "CLR624",
        _FORGED
        + """
        give(b'{"workflow": ' + b"9" * 100_000 + b', "diagnostics": []}')
    """,
        alone=True,
    ),
    hostile(
        "endless result",
        "CLR603",
        "CLR622",
        _FORGED
        + """
        give(b" " * (1 << 26))
    """,
        alone=True,
    ),
    hostile(
        "forged status of the walls",
        "CLR603",
        "CLR623",
        """
        import os
        for number in range(1, 64):
            try:
                os.write(number, b"mount at /: forged\\n")
            except OSError:
                continue
        os._exit(1)
    """,
        alone=True,
    ),
    hostile(
        "forged workflow that is wrong",
        "CLR603",
        "CLR201",
        _FORGED
        + """
        give(b'{"workflow": {"name": "x", "ir_version": "1"}, "diagnostics": []}')
    """,
        alone=True,
    ),
    hostile(
        "forged workflow that is right",
        "CLR603",
        "data",
        _FORGED
        + """
        step = {"name": "a", "action": {"kind": "container", "image": "evil", "command": ["x"]}}
        tree = {"name": "x", "ir_version": "1", "steps": [step]}
        give(json.dumps({"workflow": tree, "diagnostics": []}).encode())
    """,
        alone=True,
    ),
    hostile(
        "couler made to lie",
        "CLR606",
        "data",
        """
        import couler
        with couler.Workflow("x") as wf:
            couler.run_container("busybox", ["true"], step_name="a")
        honest = couler.Workflow.to_ir
        couler.Workflow.to_ir = lambda self: honest(self).model_copy(update={"name": "lie"})
    """,
        alone=True,
    ),
    hostile(
        "paths that are only words",
        None,
        "data",
        """
        import couler
        from couler.steps import sklearn
        with couler.Workflow("x") as wf:
            couler.run_script("python:3.12", source="/etc/passwd", step_name="a")
            sklearn.train("LogisticRegression", couler.Dataset(data="/etc/passwd"))
    """,
        alone=True,
    ),
    hostile(
        "hands itself over",
        "CLR610",
        "data",
        """
        import couler
        class Mine:
            def submit(self, workflow):
                print("ESCAPED")
        couler.run_container("busybox", ["true"], step_name="a")
        couler.run(submitter=Mine())
    """,
        alone=True,
    ),
    hostile(
        "runs itself",
        "CLR603",
        "CLR001",
        """
        import couler
        from couler import stages
        with couler.Workflow("x") as wf:
            couler.run_container("busybox", ["true"], step_name="a")
        stages.run(wf.to_ir())
    """,
        alone=True,
    ),
    hostile(
        "secret of its own",
        "CLR610",
        "data",
        """
        import couler
        with couler.Workflow("x") as wf:
            made = couler.create_secret({"key": "hunter2"}, name="made")
            couler.run_container("busybox", ["env"], secret=made, step_name="a")
    """,
        alone=True,
    ),
    hostile(
        "another encoding",
        "CLR601",
        "CLR002",
        """
        # -*- coding: utf-7 -*-
        x = "+AG8AcABlAG4-"
    """,
        alone=True,
    ),
    hostile(
        "text that reads in another order",
        "CLR601",
        "CLR002",
        """
        allowed = "user\u202e \u2066# nobody\u2069 \u2066"
    """,
        alone=True,
    ),
]
