"""Starts a server of this checkout, and installs packages of Python, for the commands in the folders next to this file."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@contextmanager
def serve(data: str | Path, *flags: str, **variables: str) -> Iterator[str]:
    """Runs the server on a free port of the loopback address while the block runs. Yields the address once it listens.

    `variables` are added to the server's environment, such as HONE_API_KEY.
    """
    command = ["node", str(ROOT / "scripts" / "start.js"), "--port", "0", "--data", str(data), *flags]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ | variables)
    assert server.stdout is not None
    try:
        for line in server.stdout:
            if match := re.search(r"listening on (http:\S+)", line):
                break
        else:
            raise SystemExit(f"the server ended with status {server.wait()} before it was listening")
        yield match[1]
    finally:
        server.send_signal(signal.SIGTERM)
        server.stdout.close()
        server.wait()


def installed(folder: Path, *packages: str | Path, version: str | None = None) -> Path:
    """Returns the interpreter of a virtual environment; makes it with these arguments of `pip install` if it is missing.

    `version` is the version of Python, such as 3.12, if another one than that of this process is needed.
    """
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        print(f"installing packages into {folder}", file=sys.stderr, flush=True)
        subprocess.run([f"python{version}" if version else sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
        (folder / "installed").touch()
    return python
