"""Runs environments on OpenEnv's own server, and trains a model on one of them: `python3.12 run.py [--rounds 8]`.

The first run installs openenv 0.10.0 into a virtual environment next to this file. The echo environment comes from OpenEnv's
template (`openenv init`), and spelling.py is a game. Both servers and this checkout's server listen on the loopback address.
Exits with an error if an answer is not the expected one, if the server's messages differ from the recorded ones that `npm test`
uses, or if the model did not learn the game.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from serve import ROOT, installed, serve

HERE = Path(__file__).resolve().parent
RECORDED = ROOT / "test" / "fixtures" / "openenv"
KEY = "hone_conformance_of_openenv_clients"
START_SECONDS = 120


@contextmanager
def environment(python: Path, folder: Path, app: str) -> Iterator[str]:
    """Runs an environment's server while the block runs. Yields its address once it is healthy."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [python, "-m", "uvicorn", app, "--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"]
    server = subprocess.Popen(command, cwd=folder)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(START_SECONDS):
            try:
                urllib.request.urlopen(f"{url}/health", timeout=5).close()
                break
            except OSError:
                time.sleep(1)
        yield url
    finally:
        server.terminate()
        server.wait()


def node(script: str, **variables: str) -> str:
    """Runs a script, and returns its output. Node 20 has WebSockets only with a flag."""
    is_old = subprocess.run(["node", "-p", "typeof WebSocket"], capture_output=True, text=True).stdout.strip() == "undefined"
    flags = ["--experimental-websocket"] if is_old else []
    result = subprocess.run(["node", *flags, HERE / script], env=os.environ | variables, check=True, stdout=subprocess.PIPE, text=True)
    return result.stdout


def check_recorded(python: Path, url: str) -> None:
    socket_url = url.replace("http", "ws") + "/ws"
    lines = subprocess.run([python, HERE / "record.py", socket_url], check=True, capture_output=True, text=True).stdout
    schema = urllib.request.urlopen(f"{url}/schema").read().decode()
    if lines != (RECORDED / "spelling.jsonl").read_text() or schema != (RECORDED / "schema.json").read_text():
        raise SystemExit(f"the server's messages differ from those in {RECORDED}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8, help="rounds of the training loop")
    rounds = parser.parse_args().rounds
    python = installed(HERE / ".venv", "-r", HERE / "requirements.txt")
    with tempfile.TemporaryDirectory(prefix="hone-openenv-") as folder:
        subprocess.run([python.parent / "openenv", "init", "echo_env"], cwd=folder, check=True, capture_output=True)
        with serve(Path(folder) / "data", "--log-level", "warn", HONE_API_KEY=KEY) as hone:
            with environment(python, Path(folder) / "echo_env", "server.app:app") as url:
                print(node("echo.js", ENVIRONMENT_URL=url), end="")
            with environment(python, HERE, "spelling:app") as url:
                check_recorded(python, url)
                told = {"ENVIRONMENT_URL": url, "HONE_URL": hone, "HONE_API_KEY": KEY, "ROUNDS": str(rounds)}
                rewards = json.loads(node("loop.js", **told))
    print(f"mean reward {rewards[0]:.2f} in the first round, {rewards[-1]:.2f} in the last", flush=True)
    if rewards[-1] <= rewards[0]:
        raise SystemExit("the model did not learn the game")


if __name__ == "__main__":
    main()
