"""Runs the unmodified `tinker` package and recipes of tinker-cookbook on Hone: `python3.12 run.py [sdk] [recipes]`.

The packages are installed at the first run into a virtual environment next to this file (gigabytes, with PyTorch). This
checkout's server serves the built-in model under a name that the cookbook knows, because the cookbook chooses its renderer by
the name. The server listens on a free port of the loopback address, with authentication. Nothing is downloaded from the hub:
the tokenizer is in a cache that this script writes. Exits with an error at the first check that fails.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from serve import installed, serve

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
VENV = Path(os.environ.get("TINKER_VENV", HERE / ".venv"))
SETS = {"sdk": "sdk_client.py", "recipes": "recipes.py"}
BASE = ROOT / "models" / "hone-tiny"
MODEL = "Qwen/Qwen3-8B-Base"
KEY = "hone_conformance_of_this_checkout"


def write_hub_cache(folder: Path) -> None:
    """Writes the built-in model's tokenizer where Transformers looks for that of the model of this name."""
    place = folder / f"models--{MODEL.replace('/', '--')}"
    snapshot = place / "snapshots" / "0"
    snapshot.mkdir(parents=True)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text("0")
    for file in ("tokenizer.json", "config.json"):
        shutil.copy(BASE / file, snapshot)
    tokens = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    config = {"tokenizer_class": "PreTrainedTokenizerFast", **tokens}
    (snapshot / "tokenizer_config.json").write_text(json.dumps(config))


def main() -> None:
    names = sys.argv[1:] or list(SETS)
    if unknown := set(names) - set(SETS):
        raise SystemExit(f"unknown set: {', '.join(sorted(unknown))}; known sets: {', '.join(SETS)}")
    python = installed(VENV, "-r", HERE / "requirements.txt")
    with tempfile.TemporaryDirectory(prefix="hone-tinker-") as folder:
        hub = Path(folder) / "hub"
        write_hub_cache(hub)
        environment = os.environ | {
            "TINKER_API_KEY": f"tml-{KEY}",
            "HONE_KEY": KEY,
            "MODEL": MODEL,
            "MODEL_FOLDER": str(BASE),
            "WORK_FOLDER": folder,
            "HF_HUB_CACHE": str(hub),
            "HF_HUB_OFFLINE": "1",
            "CUDA_VISIBLE_DEVICES": "",
        }
        flags = ["--log-level", "warn", "--built-in-model", "off", "--model", f"{MODEL.split('/')[1]}={BASE}"]
        with serve(Path(folder) / "data", *flags, HONE_API_KEY=KEY) as url:
            for name in names:
                print(f"--- {name}", flush=True)
                subprocess.run([python, HERE / SETS[name]], env=environment | {"TINKER_BASE_URL": url}, check=True)


if __name__ == "__main__":
    main()
