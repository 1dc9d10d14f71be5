"""Hostile programs that ask the system: for networks, processes and the parent."""

from __future__ import annotations

from tests.box.hostile import hostile

NETWORK = [
    hostile(
        "connect to the test",
        "CLR603",
        "PermissionError",
        """
        import socket
        socket.create_connection(("127.0.0.1", @port@), 2)
    """,
    ),
    hostile(
        "fetch a page",
        "CLR603",
        "URLError",
        """
        import urllib.request
        urllib.request.urlopen("http://127.0.0.1:@port@/", timeout=2)
    """,
    ),
    hostile(
        "ask for a name",
        "CLR603",
        "gaierror",
        """
        import socket
        socket.getaddrinfo("example.com", 80)
    """,
    ),
    hostile(
        "connect to a socket's file",
        "CLR603",
        "PermissionError",
        """
        import socket
        socket.socket(socket.AF_UNIX).connect("@socket@")
    """,
    ),
    hostile(
        "connect to an abstract socket",
        "CLR603",
        "PermissionError",
        """
        import socket
        socket.socket(socket.AF_UNIX).connect("\\0@name@")
    """,
    ),
    hostile(
        "pair of sockets",
        "CLR603",
        "PermissionError",
        """
        import socket
        socket.socketpair()
    """,
    ),
    hostile(
        "socket by ctypes",
        "CLR603",
        "AssertionError",
        """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.socket(2, 1, 0) >= 0, ctypes.get_errno()
    """,
    ),
]

PROCESSES = [
    hostile(
        "signal to the parent",
        "CLR603",
        "PermissionError",
        """
        import os
        os.kill(@pid@, 10)
    """,
    ),
    hostile(
        "signal to all",
        "CLR603",
        "PermissionError",
        """
        import os
        os.kill(-1, 9)
    """,
    ),
    hostile(
        "fork",
        "CLR603",
        "PermissionError",
        """
        import os
        os.fork()
    """,
    ),
    hostile(
        "fork bomb",
        "CLR603",
        "PermissionError",
        """
        import os
        while True:
            os.fork()
    """,
    ),
    hostile(
        "thread",
        "CLR603",
        "can't start new thread",
        """
        import threading
        threading.Thread(target=print).start()
    """,
    ),
    hostile(
        "subprocess",
        "CLR603",
        "PermissionError",
        """
        import subprocess
        subprocess.run(["/bin/sh", "-c", "echo ESCAPED > @folder@/written"], check=True)
    """,
    ),
    hostile(
        "multiprocessing",
        "CLR603",
        "Error",
        """
        import multiprocessing
        multiprocessing.get_context("fork").Process(target=print).start()
    """,
    ),
    hostile(
        "another program",
        "CLR603",
        "PermissionError",
        """
        import os
        os.execv("/bin/sh", ["sh"])
    """,
    ),
    hostile(
        "another user",
        "CLR603",
        "PermissionError",
        """
        import os
        os.setuid(0)
    """,
    ),
    hostile(
        "ptrace",
        "CLR603",
        "AssertionError: 1",
        """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.ptrace(16, 1, 0, 0) == 0, ctypes.get_errno()
    """,
    ),
    hostile(
        "mount",
        "CLR603",
        "AssertionError: 1",
        """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.mount(b"x", b"/program", b"tmpfs", 0, None) == 0, ctypes.get_errno()
    """,
    ),
    hostile(
        "new namespaces",
        "CLR603",
        "AssertionError: 1",
        """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.unshare(0x10000000) == 0, ctypes.get_errno()
    """,
    ),
    hostile(
        "io_uring",
        "CLR603",
        "AssertionError: 1",
        """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.syscall(425, 8, ctypes.create_string_buffer(200)) >= 0, ctypes.get_errno()
    """,
    ),
    hostile(
        "clone by its number",
        "CLR603",
        "AssertionError: 1",
        """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.syscall(435, ctypes.create_string_buffer(88), 88) >= 0, ctypes.get_errno()
    """,
    ),
    hostile(
        "higher limits",
        "CLR603",
        "Error",
        """
        import resource
        resource.setrlimit(resource.RLIMIT_CPU, (1000, 1000))
    """,
    ),
    hostile(
        "secrets of the parent by couler",
        "CLR606",
        "AssertionError",
        """
        import couler
        with couler.Workflow("x") as wf:
            secret = couler.obtain_secret(["COULER_TEST_CANARY"], name="canary")
            couler.run_container("busybox", ["env"], secret=secret, step_name="a")
        assert wf.reveal_secrets(), "there are none"
    """,
    ),
    hostile(
        "body of a step in the build",
        None,
        "CLR626",
        """
        import couler
        @couler.step
        def load() -> int:
            print("ESCAPED")
            return 1
        load()
    """,
        alone=True,
    ),
    hostile(
        "body of a script in the build",
        "CLR605",
        "CLR626",
        """
        import couler
        def code():
            print("ESCAPED")
        couler.run_script(image="python:3.12", source=code, step_name="a")
        globals()["code"]()
    """,
        alone=True,
    ),
]
