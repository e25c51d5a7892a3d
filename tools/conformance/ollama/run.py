"""Runs unmodified programs that speak only Ollama's API against a Hone of this checkout: `python3.12 run.py [python] [node]`.

The first run installs the Python packages into a virtual environment next to this file, and the npm packages into
`node_modules`. The server listens on the loopback address, requires an API key, and has a small model whose template
supports tools. Exits with an error at the first program that fails.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from serve import ROOT, installed, serve

HERE = Path(__file__).resolve().parent
KEY = "hone_conformance_of_ollama_clients"
MODEL = "agent"
FOLDER = ROOT / "test" / "fixtures" / "tool-model"


def python_command() -> list[str]:
    python = installed(HERE / ".venv-ollama", "-r", HERE / "requirements.txt")
    return [str(python), str(HERE / "ollama_client.py")]


def node_command() -> list[str]:
    if not (HERE / "node_modules").exists():
        print("node: installing", flush=True)
        subprocess.run(["npm", "ci", "--silent"], cwd=HERE, check=True)
    return ["node", "--test", "--test-timeout=120000", str(HERE / "ollama.test.js")]


SETS = {"python": python_command, "node": node_command}


def main() -> None:
    names = sys.argv[1:] or list(SETS)
    if unknown := set(names) - set(SETS):
        raise SystemExit(f"unknown set: {', '.join(sorted(unknown))}; known sets: {', '.join(SETS)}")
    commands = {name: SETS[name]() for name in names}
    with tempfile.TemporaryDirectory(prefix="hone-conformance-") as data:
        with serve(data, "--model", f"{MODEL}={FOLDER}", "--log-level", "warn", HONE_API_KEY=KEY) as url:
            told = {"OLLAMA_HOST": url, "OLLAMA_API_KEY": KEY, "MODEL": MODEL}
            for name, command in commands.items():
                print(f"{name}: running {command[-1]}", flush=True)
                subprocess.run(command, cwd=HERE, env=os.environ | told, check=True, timeout=600)


if __name__ == "__main__":
    main()
