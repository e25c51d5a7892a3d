"""Trains a model on a task of Harbor with Harbor's own agent and verifier: `python3.12 run.py [--rounds 2] [--env docker]`.

The first run installs harbor 0.25.0 into a virtual environment next to this file. `hone rollout run` runs `harbor run` for each
rollout, and sends the reward of the task's verifier. Without Docker, sandbox.py gives each trial a copy-on-write view of this
machine's files (needs root and tmux). Exits with an error if a trial has no reward or a job makes no version.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from serve import ROOT, installed, serve

HERE = Path(__file__).resolve().parent
KEY = "hone_conformance_of_harbor_tasks"
MODEL = "harbor/agent"
TRIES = 4
CONTEXT = 16_384
CHOICES = ["touch yes.txt\n", "touch no.txt\n"]


def answer_schema() -> dict[str, Any]:
    """Returns a schema that leaves the model only the choice of a command. The tiny model could not write the agent's format."""
    command = {"keystrokes": {"enum": CHOICES}, "duration": {"const": 0.1}}
    commands = {"type": "array", "minItems": 1, "maxItems": 1, "items": closed(command)}
    return closed({"analysis": {"const": ""}, "plan": {"const": ""}, "commands": commands, "task_complete": {"const": True}})


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def agent_options() -> list[str]:
    schema = {"type": "json_schema", "json_schema": {"name": "answer", "schema": answer_schema()}}
    options = {
        "llm_call_kwargs": {"extra_body": {"response_format": schema, "max_tokens": 200, "temperature": 1}},
        "model_info": {"max_input_tokens": CONTEXT, "max_output_tokens": 200},
        "max_turns": 2,
        "suppress_max_turns_warning": True,
        "record_terminal_session": False,
        "enable_summarize": False,
    }
    return [word for name, value in options.items() for word in ("--ak", f"{name}={json.dumps(value)}")]


def write_model(folder: Path) -> None:
    """Writes the built-in model with a context that is long enough for the agent's prompt. Each token attends to 512 tokens."""
    shutil.copytree(ROOT / "models" / "hone-tiny", folder)
    config = json.loads((folder / "config.json").read_text())
    config = {name: value for name, value in config.items() if name not in ("attention_bias", "mlp_bias")}
    mistral = {"model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 512}
    (folder / "config.json").write_text(json.dumps(config | mistral | {"max_position_embeddings": CONTEXT}))


def call(url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    request = urllib.request.Request(url, headers=headers, data=None if body is None else json.dumps(body).encode())
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def rollout(harbor: Path, url: str, folder: Path, group: str, environment: str) -> None:
    folder.mkdir(parents=True)
    hone = ["node", ROOT / "bin" / "hone.js", "rollout", "run", "--model", MODEL, "--group", group]
    hone += ["--reward-command", "cat jobs/*/*/verifier/reward.txt", "--"]
    trial = [harbor, "run", "--path", HERE / "yes-file", "--agent", "terminus-2", "--model", "openai/agent", "--env", environment]
    trial += ["--jobs-dir", "jobs", "--quiet", "--yes", *agent_options()]
    told = {"HONE_URL": url, "HONE_API_KEY": KEY, "PYTHONPATH": str(HERE), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with (folder / "log").open("w") as log:
        result = subprocess.run([*hone, *trial], cwd=folder, env=os.environ | told, stdout=log, stderr=subprocess.STDOUT)
    if result.returncode != 0:
        raise SystemExit((folder / "log").read_text()[-4000:])


def train(url: str, model_id: str) -> dict[str, Any]:
    body = {"model_id": model_id, "rollouts": {"finished": "all"}, "experimental_config": {"learning_rate": 1e-3}}
    job = call(f"{url}/v1/preview/training-jobs", body)["id"]
    while (state := call(f"{url}/v1/preview/training-jobs/{job}"))["state"] in ("queued", "running"):
        time.sleep(0.5)
    if state["state"] != "succeeded":
        raise SystemExit(f"the job {job} is {state['state']}: {state['error_message']}")
    return state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--env", default="sandbox:Sandbox", help="environment of Harbor, such as docker")
    given = parser.parse_args()
    harbor = installed(HERE / ".venv", "-r", HERE / "requirements.txt").parent / "harbor"
    with tempfile.TemporaryDirectory(prefix="hone-harbor-") as scratch:
        folder = Path(scratch)
        write_model(folder / "model")
        flags = ["--log-level", "warn", "--model", f"agent={folder / 'model'}", "--engine-context-length-max", str(CONTEXT)]
        with serve(folder / "data", *flags, "--training-sequence-length-max", "8192", HONE_API_KEY=KEY) as url:
            project, name = MODEL.split("/")
            model = call(f"{url}/v1/preview/models", {"project": project, "name": name, "base_model": "agent"})["id"]
            for number in range(given.rounds):
                for attempt in range(TRIES):
                    rollout(harbor, url, folder / f"round-{number}" / str(attempt), f"round-{number}", given.env)
                listed = call(f"{url}/v1/preview/models/{model}/rollouts?group=round-{number}")["data"]
                rewards = [one["reward"] for one in listed]
                state = train(url, model)
                counts = state["counts"]
                print(f"round {number}: rewards {rewards}, {counts['trainable_tokens']} tokens, version {state['result_step']}", flush=True)
                if len(rewards) != TRIES or state["result_step"] != number + 1:
                    raise SystemExit("a rollout or a version is missing")


if __name__ == "__main__":
    main()
