"""Runs unmodified programs that speak only Ollama's API against a Hone of this checkout: `python3.12 run.py [python] [node]`.

The first run installs the Python packages into a virtual environment next to this file, and the npm packages into
`node_modules`. The server listens on the loopback address, requires an API key, and has a small model whose template
supports tools. Exits with an error at the first program that fails.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
KEY = "hone_conformance_of_ollama_clients"
MODEL = "agent"
FOLDER = ROOT / "test" / "fixtures" / "tool-model"


def python_command() -> list[str]:
    folder = HERE / ".venv-ollama"
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        print(f"python: installing into {folder}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
        (folder / "installed").touch()
    return [str(python), str(HERE / "ollama_client.py")]


def node_command() -> list[str]:
    if not (HERE / "node_modules").exists():
        print("node: installing", flush=True)
        subprocess.run(["npm", "ci", "--silent"], cwd=HERE, check=True)
    return ["node", "--test", "--test-timeout=120000", str(HERE / "ollama.test.js")]


SETS = {"python": python_command, "node": node_command}


def serve(data: str) -> tuple[subprocess.Popen[str], str]:
    """Starts the server; returns it with its address once it listens."""
    flags = ["--port", "0", "--data", data, "--model", f"{MODEL}={FOLDER}", "--log-level", "warn"]
    command = ["node", str(ROOT / "scripts" / "start.js"), *flags]
    env = os.environ | {"HONE_API_KEY": KEY}
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=env)
    assert server.stdout is not None
    for line in server.stdout:
        if match := re.search(r"listening on (http:\S+)", line):
            return server, match[1]
    raise SystemExit(f"the server ended with status {server.wait()} before it was listening")


def main() -> None:
    names = sys.argv[1:] or list(SETS)
    if unknown := set(names) - set(SETS):
        raise SystemExit(f"unknown set: {', '.join(sorted(unknown))}; known sets: {', '.join(SETS)}")
    commands = {name: SETS[name]() for name in names}
    with tempfile.TemporaryDirectory(prefix="hone-conformance-") as data:
        server, url = serve(data)
        try:
            told = {"OLLAMA_HOST": url, "OLLAMA_API_KEY": KEY, "MODEL": MODEL}
            for name, command in commands.items():
                print(f"{name}: running {command[-1]}", flush=True)
                subprocess.run(command, cwd=HERE, env=os.environ | told, check=True, timeout=600)
        finally:
            server.send_signal(signal.SIGTERM)
            server.stdout.close() if server.stdout else None
            server.wait()


if __name__ == "__main__":
    main()
