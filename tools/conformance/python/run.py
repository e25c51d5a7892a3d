"""Runs unmodified Python clients against a Hone of this checkout: `python3.12 run.py [agents] [peft] [art-0.5.18] [art-0.5.23]`.

Each set of clients has its own virtual environment in a folder next to this file, installed at its first run from the package
index (a gigabyte for each ART version). The server listens on the loopback address and serves a small model whose template
supports tools. Exits with an error at the first client that fails.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from serve import installed, serve

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
TOOL_MODEL = ROOT / "test" / "fixtures" / "tool-model"
SETS = {"agents": "agent_clients.py", "peft": "peft_client.py", "art-0.5.18": "art_client.py", "art-0.5.23": "art_client.py"}
# Removed from the environment, because with these variables some clients would connect to other servers.
FOREIGN = ("WANDB_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL")


def interpreter(name: str) -> Path:
    """Returns the interpreter of a set's environment; installs the environment if missing."""
    return installed(HERE / f".venv-{name}", "-r", HERE / f"requirements-{name}.txt")


def float_base(python: Path, data: str) -> Path:
    """Writes the built-in model with its weights in float32; returns its folder."""
    folder = Path(data) / "float-base"
    subprocess.run([python, HERE / "float_base.py", ROOT / "models" / "hone-tiny", folder], check=True)
    return folder


def main() -> None:
    names = sys.argv[1:] or list(SETS)
    if unknown := set(names) - set(SETS):
        raise SystemExit(f"unknown set: {', '.join(sorted(unknown))}; known sets: {', '.join(SETS)}")
    pythons = {name: interpreter(name) for name in names}
    with tempfile.TemporaryDirectory(prefix="hone-conformance-") as data:
        base = float_base(pythons["peft"], data) if "peft" in pythons else None
        models = [f"agent={TOOL_MODEL}", *([f"float={base}"] if base else [])]
        with serve(data, "--auth", "off", "--log-level", "warn", *(word for model in models for word in ("--model", model))) as url:
            told = {"BASE_URL": f"{url}/v1", "API_KEY": "none", "MODEL": "agent", "BASE_MODEL": "hone-tiny"}
            told |= {"FLOAT_MODEL": "float", "FLOAT_FOLDER": str(base)} if base else {}
            offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
            kept = {key: value for key, value in os.environ.items() if key not in FOREIGN}
            for name, python in pythons.items():
                print(f"{name}: running {SETS[name]}", flush=True)
                subprocess.run([python, HERE / SETS[name]], env=kept | offline | told, check=True, timeout=600)


if __name__ == "__main__":
    main()
