"""Runs unmodified Python clients against a Hone of this checkout: `python3.12 run.py [agents] [peft] [art-0.5.18] [art-0.5.23]`.

Each set of clients has its own virtual environment in a folder next to this file, installed at its first run from the package
index (a gigabyte for each ART version). The server listens on the loopback address and serves a small model whose template
supports tools. Exits with an error at the first client that fails.
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
TOOL_MODEL = ROOT / "test" / "fixtures" / "tool-model"
SETS = {"agents": "agent_clients.py", "peft": "peft_client.py", "art-0.5.18": "art_client.py", "art-0.5.23": "art_client.py"}
# Removed from the environment, because with these variables some clients would connect to other servers.
FOREIGN = ("WANDB_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL")


def interpreter(name: str) -> Path:
    """Returns the interpreter of a set's environment; installs the environment if missing."""
    folder = HERE / f".venv-{name}"
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        print(f"{name}: installing its clients into {folder}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        requirements = HERE / f"requirements-{name}.txt"
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", requirements], check=True)
        (folder / "installed").touch()
    return python


def float_base(python: Path, data: str) -> Path:
    """Writes the built-in model with its weights in float32; returns its folder."""
    folder = Path(data) / "float-base"
    subprocess.run([python, HERE / "float_base.py", ROOT / "models" / "hone-tiny", folder], check=True)
    return folder


def serve(data: str, *more_flags: str) -> tuple[subprocess.Popen[str], str]:
    """Starts the server; returns it with its address once it listens."""
    flags = ["--port", "0", "--data", data, "--auth", "off", "--log-level", "warn", "--model", f"agent={TOOL_MODEL}", *more_flags]
    command = ["node", str(ROOT / "scripts" / "start.js"), *flags]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    for line in server.stdout:
        if match := re.search(r"listening on (http:\S+)", line):
            return server, match[1]
    raise SystemExit(f"the server ended with status {server.wait()} before it was listening")


def main() -> None:
    names = sys.argv[1:] or list(SETS)
    if unknown := set(names) - set(SETS):
        raise SystemExit(f"unknown set: {', '.join(sorted(unknown))}; known sets: {', '.join(SETS)}")
    pythons = {name: interpreter(name) for name in names}
    with tempfile.TemporaryDirectory(prefix="hone-conformance-") as data:
        base = float_base(pythons["peft"], data) if "peft" in pythons else None
        server, url = serve(data, *(["--model", f"float={base}"] if base else []))
        try:
            told = {"BASE_URL": f"{url}/v1", "API_KEY": "none", "MODEL": "agent", "BASE_MODEL": "hone-tiny"}
            told |= {"FLOAT_MODEL": "float", "FLOAT_FOLDER": str(base)} if base else {}
            offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
            kept = {key: value for key, value in os.environ.items() if key not in FOREIGN}
            for name, python in pythons.items():
                print(f"{name}: running {SETS[name]}", flush=True)
                subprocess.run([python, HERE / SETS[name]], env=kept | offline | told, check=True, timeout=600)
        finally:
            server.send_signal(signal.SIGTERM)
            server.stdout.close() if server.stdout else None
            server.wait()


if __name__ == "__main__":
    main()
