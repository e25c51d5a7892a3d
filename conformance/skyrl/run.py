"""Trains on a SkyRL server, unmodified, on the processor: `python3.12 run.py [contract] [words]`.

SkyRL's packages get a virtual environment in a folder beside this file, at the first run from the package index (some
gigabytes, most of it a torch that is not used). `contract` runs the trainer's contract on the JAX backend with the contract's
tiny model; `words` has `hone demo` teach the built-in model a word there. Everything listens on the loopback address. Exits
with an error where something is not as it should be.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILT_IN = ROOT / "models" / "hone-tiny"
VENV = HERE / ".venv-skyrl"
# What JAX has compiled, kept from one server to the next: most of the time of a first run.
COMPILED = {
    "JAX_COMPILATION_CACHE_DIR": str(VENV / "compiled"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
# How long the engine may take to load, and a run of the contract: each shape of a batch is compiled at its first use.
START_SECONDS = 600
RUN_SECONDS = 7200


def interpreter() -> Path:
    python = VENV / "bin" / "python"
    if not (VENV / "installed").exists():
        print(f"installing SkyRL into {VENV}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
        (VENV / "installed").touch()
    return python


@contextmanager
def skyrl(python: Path, base: Path, data: Path) -> Iterator[str]:
    """A server over a base model, and its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    backend = {"max_lora_adapters": 16, "max_lora_rank": 8, "train_micro_batch_size": 8}
    options = {
        "--base-model": base,
        "--backend": "jax",
        "--backend-config": json.dumps(backend),
        "--database-url": f"sqlite:///{data}/tinker.db",
        "--checkpoints-base": data / "checkpoints",
        "--port": port,
    }
    command = [str(word) for word in (python, HERE / "launch.py", *(part for pair in options.items() for part in pair))]
    env = os.environ | {"JAX_PLATFORMS": "cpu", "HF_HUB_OFFLINE": "1"} | COMPILED
    log = data / "skyrl.log"
    with log.open("w") as output:
        server = subprocess.Popen(command, env=env, stdout=output, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(START_SECONDS):
            if server.poll() is not None:
                raise SystemExit(f"SkyRL ended before it was up:\n{log.read_text()[-4000:]}")
            try:
                urllib.request.urlopen(f"{url}/api/v1/healthz", timeout=5).close()
                break
            except (urllib.error.URLError, TimeoutError):
                time.sleep(1)
        else:
            raise SystemExit(f"SkyRL was not up after {START_SECONDS} seconds:\n{log.read_text()[-4000:]}")
        yield url
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def contract(python: Path, data: Path) -> None:
    base = data / "tiny"
    subprocess.run(["node", HERE / "tiny-model.js", base], check=True)
    # A model that is not finite any more leaves the same to the models after it: that test has a server of its own.
    others = "formula|forward|gradient|order|decays|seed|call|another id|makes no sense|a name|clos|saved|state|folder|run|opening"
    for pattern in [others, "not finite"]:
        with tempfile.TemporaryDirectory(dir=data) as own, skyrl(python, base, Path(own)) as url:
            env = os.environ | {"TRAINER_URL": url, "TRAINER_BASE": str(base)}
            options = [f"--test-timeout={RUN_SECONDS * 1000}", f"--test-name-pattern={pattern}"]
            subprocess.run(["node", "--test", *options, HERE / "contract.test.js"], env=env, check=True)


def words(python: Path, data: Path) -> None:
    # In float32, which adapters are trained in as well: in sixteen bits small steps are lost.
    base = data / "float-base"
    subprocess.run([python, HERE.parent / "python" / "float_base.py", BUILT_IN, base], check=True)
    config = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps(config | {"torch_dtype": "float32"}))
    with skyrl(python, base, data) as url:
        env = os.environ | {"HONE_TRAINER": f"tinker+{url}?kind=skyrl-jax&base={base}"}
        demo = ["node", ROOT / "bin" / "hone.js", "demo", "--seed", "1", "--json"]
        # It ends with an error where the word was not learned.
        subprocess.run(demo, env=env, check=True, timeout=RUN_SECONDS)


SETS = {"contract": contract, "words": words}


def main() -> None:
    names = sys.argv[1:] or list(SETS)
    if unknown := set(names) - set(SETS):
        raise SystemExit(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(SETS)}")
    set_up = "import { setUp } from './scripts/setup.js'; setUp();"
    subprocess.run(["node", "--input-type=module", "-e", set_up], cwd=ROOT, check=True)
    python = interpreter()
    for name in names:
        print(f"{name}: running", flush=True)
        with tempfile.TemporaryDirectory(prefix="hone-skyrl-") as data:
            SETS[name](python, Path(data))


if __name__ == "__main__":
    main()
