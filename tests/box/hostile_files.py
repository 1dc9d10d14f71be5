"""Hostile programs that read and write files."""

from __future__ import annotations

from tests.box.hostile import hostile

FILES = [
    hostile(
        "read /etc/passwd",
        "CLR605",
        "FileNotFoundError",
        """
        open("/etc/passwd").read()
    """,
    ),
    hostile(
        "read a file beside the test",
        "CLR605",
        "FileNotFoundError",
        """
        open("@canary@").read()
    """,
    ),
    hostile(
        "read through pathlib",
        "CLR603",
        "FileNotFoundError",
        """
        from pathlib import Path
        Path("@canary@").read_text()
    """,
    ),
    hostile(
        "read through linecache",
        "CLR603",
        "AssertionError",
        """
        import linecache
        assert linecache.getlines("@canary@")
    """,
    ),
    hostile(
        "read /proc/self/environ",
        "CLR605",
        "FileNotFoundError",
        """
        open("/proc/self/environ").read()
    """,
    ),
    hostile(
        "read the parent's environment in /proc",
        "CLR605",
        "FileNotFoundError",
        """
        open("/proc/@pid@/environ").read()
    """,
    ),
    hostile(
        "read its own environment",
        "CLR603",
        "KeyError",
        """
        import os
        os.environ["COULER_TEST_CANARY"]
    """,
    ),
    hostile(
        "look into ~/.ssh",
        "CLR603",
        "FileNotFoundError",
        """
        import os
        os.listdir(os.path.expanduser("~/.ssh"))
    """,
    ),
    hostile(
        "look for other users",
        "CLR603",
        "KeyError",
        """
        import pwd
        pwd.getpwuid(0)
    """,
    ),
    hostile(
        "climb out by ..",
        "CLR605",
        "FileNotFoundError",
        """
        open("../../../../../../..@canary@").read()
    """,
    ),
    hostile(
        "write outside",
        "CLR605",
        "PermissionError",
        """
        open("@folder@/written", "w").write("ESCAPED")
    """,
    ),
    hostile(
        "write its own file",
        "CLR605",
        "PermissionError",
        """
        open(__file__, "a").write("ESCAPED")
    """,
    ),
    hostile(
        "write into couler",
        "CLR605",
        "PermissionError",
        """
        import couler
        open(couler.__file__, "a").write("")
    """,
    ),
    hostile(
        "make a folder",
        "CLR603",
        "PermissionError",
        """
        import os
        os.mkdir("/program/new")
    """,
    ),
    hostile(
        "link to the outside",
        "CLR603",
        "PermissionError",
        """
        import os
        os.symlink("/", "/program/root")
        open("/program/root@canary@").read()
    """,
    ),
    hostile(
        "remove a file",
        "CLR603",
        "PermissionError",
        """
        import os
        os.unlink(__file__)
    """,
    ),
    hostile(
        "file without a name",
        "CLR603",
        "PermissionError",
        """
        import os
        os.open("/program", os.O_TMPFILE | os.O_RDWR)
    """,
    ),
    hostile(
        "file in memory",
        "CLR603",
        "PermissionError",
        """
        import os
        os.memfd_create("x")
    """,
    ),
    hostile(
        "leave the root",
        "CLR603",
        "PermissionError",
        """
        import os
        os.chroot("/program")
    """,
    ),
    hostile(
        "leaked file of the parent",
        "CLR603",
        "OSError: [Errno 9]",
        """
        import os
        os.read(@fd@, 100)
    """,
    ),
    hostile(
        "any open file",
        "CLR603",
        "AssertionError",
        """
        import os
        found = []
        for number in range(3, 64):
            try:
                os.fstat(number)
            except OSError:
                continue
            found.append(number)
        assert len(found) > 3, "only the pipe of the result, and standard output and error again"
    """,
    ),
]
