"""Runs unmodified clients of OpenAI's fine-tuning API against a Hone of this checkout: `python3.12 run.py [python] [litellm] [node]`.

The scripts name OpenAI's models, which the server knows as aliases of its built-in model. The first run installs the Python
packages into a virtual environment next to this file, and the npm package into `node_modules`. The server listens on the
loopback address and requires an API key. Exits with an error at the first client that fails.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from serve import installed, serve

HERE = Path(__file__).resolve().parent
KEY = "hone_conformance_of_fine_tuning_clients"
ALIASES = ["--model-aliases", "gpt-*=hone-tiny", "--model-aliases", "o4-mini-2025-04-16=hone-tiny"]
FLAGS = ["--log-level", "warn", *ALIASES]


def python_command(script: str) -> list[str]:
    python = installed(HERE / ".venv-fine-tuning", "-r", HERE / "requirements.txt")
    return [str(python), str(HERE / script)]


def node_command() -> list[str]:
    if not (HERE / "node_modules").exists():
        print("node: installing", flush=True)
        subprocess.run(["npm", "ci", "--silent"], cwd=HERE, check=True)
    return ["node", str(HERE / "openai_client.js")]


SETS = {
    "python": lambda: python_command("openai_client.py"),
    "litellm": lambda: python_command("litellm_client.py"),
    "node": node_command,
}


def main() -> None:
    names = sys.argv[1:] or list(SETS)
    if unknown := set(names) - set(SETS):
        raise SystemExit(f"unknown set: {', '.join(sorted(unknown))}; known sets: {', '.join(SETS)}")
    commands = {name: SETS[name]() for name in names}
    with tempfile.TemporaryDirectory(prefix="hone-conformance-") as data:
        with serve(data, *FLAGS, HONE_API_KEY=KEY) as url:
            # The last variable stops LiteLLM from asking another server for prices.
            told = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
            for name, command in commands.items():
                print(f"{name}: running {command[-1]}", flush=True)
                subprocess.run(command, cwd=HERE, env=os.environ | told, check=True, timeout=1800)


if __name__ == "__main__":
    main()
