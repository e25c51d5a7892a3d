"""Runs unmodified tracing libraries against a Hone of this checkout: `python3.12 run.py [python] [node]`.

The first run installs the Python package into a virtual environment next to this file, and the npm package into `node_modules`.
The server listens on the loopback address and requires an API key. Exits with an error at the first client that fails.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from serve import installed, serve

HERE = Path(__file__).resolve().parent
KEY = "hone_conformance_of_tracing_clients"
# Removed from the environment, because with these variables clients would connect to other servers.
FOREIGN = ("LANGFUSE_HOST", "LANGFUSE_BASEURL", "OPENAI_ORG_ID", "OTEL_SERVICE_NAME")


def python_command() -> list[str]:
    python = installed(HERE / ".venv-traces", "-r", HERE / "requirements.txt")
    return [str(python), str(HERE / "langfuse_client.py")]


def node_command() -> list[str]:
    if not (HERE / "node_modules").exists():
        print("node: installing", flush=True)
        subprocess.run(["npm", "ci", "--silent"], cwd=HERE, check=True)
    return ["node", "--test", "--test-timeout=120000", str(HERE / "traces.test.js")]


SETS = {"python": python_command, "node": node_command}


def main() -> None:
    names = sys.argv[1:] or list(SETS)
    if unknown := set(names) - set(SETS):
        raise SystemExit(f"unknown set: {', '.join(sorted(unknown))}; known sets: {', '.join(SETS)}")
    commands = {name: SETS[name]() for name in names}
    with tempfile.TemporaryDirectory(prefix="hone-conformance-") as data:
        with serve(data, "--log-level", "warn", HONE_API_KEY=KEY) as url:
            told = {
                "HONE_URL": url,
                "LANGFUSE_BASE_URL": url,
                "LANGFUSE_PUBLIC_KEY": "langfuse",
                "LANGFUSE_SECRET_KEY": KEY,
                "OPENAI_BASE_URL": f"{url}/v1",
                "OPENAI_API_KEY": KEY,
                "OTEL_EXPORTER_OTLP_ENDPOINT": url,
                "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer {KEY}",
            }
            kept = {key: value for key, value in os.environ.items() if key not in FOREIGN}
            for name, command in commands.items():
                print(f"{name}: running {command[-1]}", flush=True)
                subprocess.run(command, cwd=HERE, env=kept | told, check=True, timeout=600)


if __name__ == "__main__":
    main()
