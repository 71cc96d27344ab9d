"""A `python` command that starts quickly: it runs programs in forks of a process that has imported
torch and other large packages.

    with warm_python(folder) as path:
        subprocess.run(["python", "-c", "import torch"], env={**os.environ, "PATH": path})

Each program has its own process, standard streams, environment, working folder and modules; nothing
from `transformer` is preloaded. Supported: `python [-W ACTION] (-c CODE | -m MODULE)`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

PRELOADED = ("numpy", "pandas", "pyarrow.parquet", "torch", "safetensors.torch", "sentencepiece")
CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({address!r})
    request = {{"argv": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}
    socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
    connection.shutdown(socket.SHUT_WR)
    sys.exit(int(connection.recv(16) or 1))
"""


@contextlib.contextmanager
def warm_python(folder: Path) -> Iterator[str]:
    """Start the process; yield a PATH whose first folder, in `folder`, has the `python` command."""
    bin_folder, address = folder / "bin", str(folder / "socket")
    bin_folder.mkdir()
    command = bin_folder / "python"
    command.write_text(CLIENT.format(python=sys.executable, address=address))
    command.chmod(0o755)
    arguments = [sys.executable, __file__, address]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        try:
            yield os.pathsep.join([str(bin_folder), os.environ["PATH"]])
        finally:
            process.kill()


def serve(address: str) -> list[str]:
    """Fork for every request; return the program's arguments in the fork."""
    for name in PRELOADED:
        importlib.import_module(name)
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    print("ready", flush=True)
    while True:
        connection, _ = listener.accept()
        message, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
        while part := connection.recv(1 << 16):
            message += part
        if os.fork():
            for open_file in (connection.detach(), *streams):
                os.close(open_file)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)
            continue
        if program := os.fork():  # wait for the program and send its exit code
            code = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
            connection.sendall(str(code if code >= 0 else 128 - code).encode())
            os._exit(0)
        connection.close()
        listener.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        # New objects, as the old ones assume the kind of file that they were opened with.
        sys.stdout, sys.stderr = (os.fdopen(number, "w", 1, closefd=False) for number in (1, 2))
        request = json.loads(message)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        return list(request["argv"])


def run(argv: list[str]) -> None:
    """Run a program with the arguments of `python`."""
    if argv[0] == "-W":
        warnings.simplefilter(argv[1])  # type: ignore[arg-type]
        argv = argv[2:]
    sys.path[0] = os.getcwd()
    if argv[0] == "-m":
        sys.argv = argv[1:]
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
    else:
        assert argv[0] == "-c", f"unsupported: {argv}"
        sys.argv = ["-c", *argv[2:]]
        exec(compile(argv[1], "<string>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    run(serve(sys.argv[1]))
