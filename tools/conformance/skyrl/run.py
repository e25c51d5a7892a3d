"""Trains on an unmodified SkyRL server on the processor: `python3.12 run.py [contract] [words] [move]`.

SkyRL's packages are installed at the first run from the package index into a virtual environment next to this file (some
gigabytes, most of them an unused torch). `contract` runs the trainer's contract on the JAX backend with the contract's tiny
model. `words` runs `hone demo`, which teaches the built-in model a word on SkyRL. `move` continues training a model on SkyRL
that the embedded trainer made. Everything listens on the loopback address. Exits with an error at the first failed check.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
BUILT_IN = ROOT / "models" / "hone-tiny"
VENV = HERE / ".venv-skyrl"
# JAX's compilation cache, shared by consecutive servers: compilation takes most of the time of a first run.
COMPILED = {
    "JAX_COMPILATION_CACHE_DIR": str(VENV / "compiled"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
# Time limits for loading the engine and for a run of the contract, which compiles each batch shape at its first use.
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
    """Starts SkyRL's server with a base model; yields its address."""
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
                raise SystemExit(f"SkyRL ended before it was ready:\n{log.read_text()[-4000:]}")
            try:
                urllib.request.urlopen(f"{url}/api/v1/healthz", timeout=5).close()
                break
            except (urllib.error.URLError, TimeoutError):
                time.sleep(1)
        else:
            raise SystemExit(f"SkyRL was not ready after {START_SECONDS} seconds:\n{log.read_text()[-4000:]}")
        yield url
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def contract(python: Path, data: Path) -> None:
    base = data / "tiny"
    subprocess.run(["node", HERE / "tiny-model.js", base], check=True)
    # Non-finite values in one model spread to later models on the same server, so that test has a separate server.
    others = "formula|forward|gradient|order|decays|seed|call|another id|makes no sense|a name|clos|saved|state|folder|run|opening"
    for pattern in [others, "not finite"]:
        with tempfile.TemporaryDirectory(dir=data) as own, skyrl(python, base, Path(own)) as url:
            env = os.environ | {"TRAINER_URL": url, "TRAINER_BASE": str(base)}
            options = [f"--test-timeout={RUN_SECONDS * 1000}", f"--test-name-pattern={pattern}"]
            subprocess.run(["node", "--test", *options, HERE / "contract.test.js"], env=env, check=True)


def float_base(python: Path, data: Path) -> Path:
    """Writes the built-in model in float32, since adapters are trained in the same type, and sixteen bits would lose small steps."""
    base = data / "float-base"
    subprocess.run([python, HERE.parent / "python" / "float_base.py", BUILT_IN, base], check=True)
    config = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps(config | {"torch_dtype": "float32"}))
    return base


def words(python: Path, data: Path) -> None:
    base = float_base(python, data)
    with skyrl(python, base, data) as url:
        env = os.environ | {"HONE_TRAINER": f"tinker+{url}?kind=skyrl-jax&base={base}"}
        demo = ["node", ROOT / "bin" / "hone.js", "demo", "--seed", "1", "--json"]
        # The demo ends with an error if the model did not learn the word.
        subprocess.run(demo, env=env, check=True, timeout=RUN_SECONDS)


@contextmanager
def hone(base: Path, data: Path, *flags: str) -> Iterator[tuple[str, str]]:
    """Starts a Hone server with the base model as `tiny`; yields its address and an API key."""
    command = ["node", ROOT / "bin" / "hone.js", "serve", "--port", "0", "--data", data, "--built-in-model", "off"]
    command += ["--model", f"tiny={base}", *flags]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = ""
    try:
        while (listening := re.search(r"listening on (http:\S+)", said)) is None:
            line = server.stdout.readline()
            if line == "":
                raise SystemExit(f"Hone ended before it was ready:\n{said}")
            said += line
        threading.Thread(target=server.stdout.read, daemon=True).start()
        yield listening[1], (data / "admin-key").read_text().strip()
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def mean_reward(url: str, key: str, model: str) -> float:
    """Returns the mean reward as in `hone demo`, over many of the model's answers to each question."""
    rewards = {"maybe": 1, "no": 0.75, "yes": 0.5}
    orders = ["yes no maybe", "yes maybe no", "no yes maybe", "no maybe yes", "maybe yes no", "maybe no yes"]
    got = []
    for order in orders:
        question = "respond with exactly one of " + ", ".join(f"'{word}'" for word in order.split())
        body = {"model": model, "messages": [{"role": "user", "content": question}], "n": 64, "max_tokens": 5, "seed": 1}
        headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
        asked = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(asked, timeout=600) as answer:
            choices = json.load(answer)["choices"]
        firsts = [re.sub(r"[^a-z]", "", (choice["message"]["content"].lower().split() or [""])[0]) for choice in choices]
        got += [rewards.get(first, 0) for first in firsts]
    return sum(got) / len(got)


def move(python: Path, data: Path) -> None:
    """Moves a model from the embedded trainer to SkyRL, and checks that it keeps what it has learned."""
    base = float_base(python, data)
    command = ["node", ROOT / "bin" / "hone.js"]
    with skyrl(python, base, data) as trainer, hone(base, data / "embedded") as (url, key):
        taught = ["demo", "--task", "words", "--model", "tiny", "--jobs", "3", "--seed", "1", "--json", "--url", url, "--key", key]
        # Three jobs are too few to reach the demo's own goal, so its exit status is ignored.
        demo = json.loads(subprocess.run([*command, *taught], stdout=subprocess.PIPE).stdout)
        name = f"{demo['model']['project']}/{demo['model']['name']}"
        address = f"tinker+{trainer}?kind=skyrl-jax&base={base}"
        with hone(base, data / "elsewhere", "--trainer", address) as (there, there_key):
            to = ["--to", there, "--to-key", there_key, "--json"]
            subprocess.run([*command, "models", "move", name, "--url", url, "--key", key, *to], check=True, timeout=RUN_SECONDS)
            before = mean_reward(url, key, "tiny")
            made, moved = mean_reward(url, key, name), mean_reward(there, there_key, name)
    print(f"mean reward: {before:.3f} with the base model, {made:.3f} on the embedded trainer, {moved:.3f} on SkyRL")
    if moved - before < (made - before) / 2:
        raise SystemExit("The moved model has not kept what it had learned.")


SETS = {"contract": contract, "words": words, "move": move}


def main() -> None:
    names = sys.argv[1:] or list(SETS)
    if unknown := set(names) - set(SETS):
        raise SystemExit(f"unknown set: {', '.join(sorted(unknown))}; known sets: {', '.join(SETS)}")
    set_up = "import { setUp } from './scripts/setup.js'; setUp();"
    subprocess.run(["node", "--input-type=module", "-e", set_up], cwd=ROOT, check=True)
    python = interpreter()
    for name in names:
        print(f"{name}: running", flush=True)
        with tempfile.TemporaryDirectory(prefix="hone-skyrl-") as data:
            SETS[name](python, Path(data))


if __name__ == "__main__":
    main()
