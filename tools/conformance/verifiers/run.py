"""Trains models on environments of the package verifiers with recipe.py: `python3.12 run.py [marble-v1] [sums] [--rounds 4]`.

The first run installs verifiers 0.4.0 and the environment marble-v1 from the package index into a virtual environment next to
this file. marble-v1 has one turn, and the built-in model cannot solve it, so its run only tests the recipe. The environment
sums.py has several turns and a tool, and the model must learn it. This checkout's server listens on the loopback address.
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
KEY = "hone_conformance_of_verifiers"
# Settings of each environment, and sampling options. One answer of the marble game has at most 40 tokens.
SETS = {"marble-v1": ({"pieces": 1}, {"max_tokens": 40}), "sums": ({}, {"max_tokens": 80})}
LEARNED = ["sums"]


def train(python: Path, url: str, name: str, rounds: int) -> list[float]:
    """Runs the recipe, and returns the mean reward of each round."""
    settings, sampling = SETS[name]
    words = [name, json.dumps({"id": name, **settings}), json.dumps({"temperature": 1, **sampling}), str(rounds)]
    # verifiers starts its processes with the programs of its own environment, such as uv.
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    told = {"HONE_URL": url, "HONE_API_KEY": KEY, "PYTHONPATH": str(HERE), "PATH": path}
    means = []
    with subprocess.Popen([python, HERE / "recipe.py", *words], env=os.environ | told, stdout=subprocess.PIPE, text=True) as recipe:
        for line in recipe.stdout:
            print(f"{name}: {line}", end="", flush=True)
            if line.startswith("rewards "):
                earned, _ = json.JSONDecoder().raw_decode(line.removeprefix("rewards "))
                means.append(sum(earned) / len(earned))
    if recipe.returncode != 0 or len(means) != rounds:
        raise SystemExit(f"{name}: the recipe ended with status {recipe.returncode} after {len(means)} of {rounds} rounds")
    return means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("environments", nargs="*", help=f"default: {', '.join(SETS)}")
    parser.add_argument("--rounds", type=int, default=4)
    given = parser.parse_args()
    names = given.environments or list(SETS)
    if unknown := set(names) - set(SETS):
        parser.error(f"unknown environment: {', '.join(sorted(unknown))}; known environments: {', '.join(SETS)}")
    python = installed(HERE / ".venv", "-r", HERE / "requirements.txt")
    with tempfile.TemporaryDirectory(prefix="hone-verifiers-") as data:
        flags = ["--log-level", "warn", "--chat-tool-calls", "hone-tiny=auto"]
        with serve(data, *flags, HONE_API_KEY=KEY) as url:
            for name in names:
                means = train(python, url, name, given.rounds)
                print(f"{name}: mean reward {means[0]:.2f} in the first round, {means[-1]:.2f} in the last", flush=True)
                if name in LEARNED and means[-1] <= means[0]:
                    raise SystemExit(f"the model did not learn {name}")


if __name__ == "__main__":
    main()
