"""Hostile programs that use up what there is, or end their process."""

from __future__ import annotations

from tests.box.hostile import hostile

BOUNDS = [
    hostile(
        "endless loop",
        None,
        "CLR620",
        """
        while True:
            pass
    """,
        alone=True,
    ),
    hostile(
        "endless loop that catches all",
        "CLR604",
        "CLR620",
        """
        while True:
            try:
                while True:
                    pass
            except BaseException:
                continue
    """,
        alone=True,
    ),
    hostile(
        "sleep",
        "CLR603",
        "CLR620",
        """
        import time
        time.sleep(1000)
    """,
        waits=True,
    ),
    hostile(
        "ignores signals and sleeps",
        "CLR603",
        "CLR620",
        """
        import signal, time
        for number in range(1, 32):
            if number not in (9, 19):
                signal.signal(number, signal.SIG_IGN)
        time.sleep(1000)
    """,
        waits=True,
    ),
    hostile(
        "huge power",
        "CLR609",
        "CLR620",
        """
        x = 9 ** 9 ** 9
    """,
        alone=True,
    ),
    hostile(
        "regular expression that blows up",
        "CLR603",
        "CLR620",
        """
        import re
        re.match("(a+)+$", "a" * 64 + "b")
    """,
        alone=True,
    ),
    hostile(
        "huge text",
        "CLR609",
        "CLR621",
        """
        x = "a" * 10_000_000_000
    """,
        alone=True,
    ),
    hostile(
        "list that grows",
        None,
        "CLR621",
        """
        x = [1]
        while True:
            x = x + x
    """,
        alone=True,
    ),
    hostile(
        "very wide number",
        "CLR608",
        "CLR621",
        """
        x = f"{1:>9999999999}"
    """,
        alone=True,
    ),
    hostile(
        "very wide number by %",
        "CLR608",
        "CLR621",
        """
        x = "%99999999999d" % 1
    """,
        alone=True,
    ),
    hostile(
        "number of many digits",
        "CLR609",
        "ValueError",
        """
        x = str(%s ** 2)
    """.replace("%s", "9" * 4000),
    ),
    hostile(
        "zip bomb",
        "CLR603",
        "CLR62",
        """
        import io, zipfile, zlib
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open("x", "w") as file:
                for _ in range(40):
                    file.write(bytes(1 << 24))
        zipfile.ZipFile(held).read("x")
        zipfile.ZipFile(held).read("x") + bytes(1 << 29)
    """,
        alone=True,
    ),
    hostile(
        "deep recursion",
        None,
        "RecursionError",
        """
        def deeper():
            return deeper()
        deeper()
    """,
    ),
    hostile(
        "recursion without Python's bound",
        "CLR603",
        "CLR623",
        """
        import sys
        sys.setrecursionlimit(10 ** 9)
        x = []
        for _ in range(10 ** 6):
            x = [x]
        repr(x)
    """,
        alone=True,
    ),
    hostile(
        "brackets in brackets",
        "CLR601",
        "CLR001",
        """
        x = %s%s
    """.replace("%s%s", "(" * 5000 + ")" * 5000),
        alone=True,
    ),
    hostile(
        "chain of operators",
        "CLR602",
        "CLR0",
        """
        x = %s1
    """.replace("%s", "1+" * 30_000),
        alone=True,
    ),
    hostile(
        "crash of the interpreter",
        "CLR603",
        "CLR623",
        """
        import ctypes
        ctypes.string_at(0)
    """,
        alone=True,
    ),
    hostile(
        "much output",
        None,
        "CLR622",
        """
        for number in range(1_000_000):
            print("x" * 1000)
    """,
        alone=True,
    ),
    hostile(
        "output that moves the cursor",
        "CLR601",
        "CLR002",
        """
        print("\x1b[2J\x1b[1;1H")
    """,
        alone=True,
    ),
    hostile(
        "very many steps",
        None,
        "CLR62",
        """
        import couler
        with couler.Workflow("x"):
            for number in range(1_000_000):
                couler.run_container("busybox", ["true"], step_name="a" + str(number))
    """,
        alone=True,
    ),
    hostile(
        "huge width in a format that has a name",
        None,
        "CLR621",
        """
        import couler
        wide = "%1000000000d"
        couler.run_container("busybox", ["echo", wide % 1], step_name="a")
    """,
        alone=True,
    ),
    hostile(
        "YAML of which each line doubles the one before",
        None,
        "CLR620",
        """
        import couler
        text = "a0: &a0 [x, x]"
        for n in range(1, 40):
            text = text + f"\\na{n}: &a{n} [*a{n - 1}, *a{n - 1}]"
        couler.run_job(manifest=text, step_name="a")
    """,
        alone=True,
    ),
    hostile(
        "ends at once",
        "CLR603",
        "CLR623",
        """
        import os
        os._exit(0)
    """,
        alone=True,
    ),
    hostile(
        "ends with SystemExit",
        "CLR604",
        "CLR001",
        """
        raise SystemExit(3)
    """,
        alone=True,
    ),
    hostile(
        "raises what nobody catches",
        "CLR604",
        "CLR623",
        """
        raise KeyboardInterrupt
    """,
        alone=True,
    ),
]
