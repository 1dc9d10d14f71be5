"""Hostile programs that import what they must not, or find it in modules of Couler."""

from __future__ import annotations

from tests.box.hostile import hostile

IMPORTS = [
    hostile(
        "import os",
        "CLR603",
        "FileNotFoundError",
        """
        import os
        os.listdir("@folder@")
    """,
    ),
    hostile(
        "star import",
        "CLR603",
        "FileNotFoundError",
        """
        from os import *
        listdir("@folder@")
    """,
    ),
    hostile(
        "__import__",
        "CLR605",
        "FileNotFoundError",
        """
        __import__("os").listdir("@folder@")
    """,
    ),
    hostile(
        "importlib",
        "CLR603",
        "FileNotFoundError",
        """
        import importlib
        importlib.import_module("os").listdir("@folder@")
    """,
    ),
    hostile(
        "import hook",
        "CLR603",
        "PermissionError",
        """
        import sys
        class Finder:
            def find_spec(self, name, path, target=None):
                import os
                os.fork()
        sys.meta_path.insert(0, Finder())
        import absent
    """,
        alone=True,
    ),
    hostile(
        "sys.modules by a module of Couler",
        "CLR603",
        "FileNotFoundError",
        """
        from couler.dsl import shipping
        shipping.sys.modules["os"].listdir("@folder@")
    """,
    ),
    hostile(
        "loader of couler itself",
        "CLR603",
        "FileNotFoundError",
        """
        import couler
        couler._import_module("os").listdir("@folder@")
    """,
    ),
    hostile(
        "typing of couler itself",
        "CLR603",
        "FileNotFoundError",
        """
        import couler
        couler._t.sys.modules["os"].listdir("@folder@")
    """,
    ),
    hostile(
        "couler.cli",
        "CLR603",
        "",
        """
        import couler.cli.run
        couler.cli.run.command(["@canary@"])
    """,
        alone=True,
    ),
    hostile(
        "names of a zoo module",
        "CLR603",
        "FileNotFoundError",
        """
        import couler.steps.sklearn
        couler.steps.fitting.files("couler").joinpath("../@canary@").read_text()
    """,
    ),
    hostile(
        "module under another name",
        "CLR605",
        "FileNotFoundError",
        """
        import couler
        found = couler
        found.dsl.shipping.sys.modules["os"].listdir("@folder@")
    """,
    ),
    hostile(
        "ctypes opens a file",
        "CLR603",
        "AssertionError",
        """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.open(b"@canary@", 0) >= 0, ctypes.get_errno()
    """,
    ),
    hostile(
        "codec with the name of a module",
        None,
        "unknown encoding",
        """
        import couler
        names = {"encode": "os.system"}
        "id".encode(names["encode"])
    """,
    ),
    hostile(
        "function of Couler as a hook of json",
        None,
        "no step to run",
        """
        import json
        import couler
        json.loads("[{}]", object_hook=couler.run)
    """,
    ),
    hostile(
        "pickle",
        "CLR603",
        "FileNotFoundError",
        """
        import pickle
        class Bomb:
            def __reduce__(self):
                return open, ("@canary@",)
        pickle.loads(pickle.dumps(Bomb()))
    """,
    ),
]
