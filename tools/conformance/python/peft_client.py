"""Checks that PEFT and Transformers load adapters that a running Hone trained, and that Hone serves adapters made by PEFT.

`run.py` calls it. It reads BASE_URL, API_KEY, FLOAT_MODEL (the name of a base model in float32) and FLOAT_FOLDER (its
folder). Log-probabilities must agree to 1e-3 for every token of greedy answers.
"""

import io
import json
import os
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM

BASE_URL, API_KEY, MODEL, FOLDER = (
    os.environ[name] for name in ("BASE_URL", "API_KEY", "FLOAT_MODEL", "FLOAT_FOLDER")
)
TOLERANCE = 1e-3
PROMPTS = ["say yes, no or maybe", "tell me a story about the sea", "what is two and three?"]
PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def ask(method: str, path: str, body: object = None, archive: bytes | None = None) -> bytes:
    content = ("application/x-tar", archive) if archive else ("application/json", json.dumps(body).encode())
    headers = {"Authorization": f"Bearer {API_KEY}", "Content-Type": content[0]}
    data = None if body is None and archive is None else content[1]
    request = urllib.request.Request(BASE_URL + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=300) as answer:
        return answer.read()


def chat(model: str, prompt: str, **options: object) -> dict:
    messages = [{"role": "user", "content": prompt}]
    asked = {"model": model, "messages": messages, "logprobs": True, "return_token_ids": True, "max_tokens": 24}
    return json.loads(ask("POST", "/chat/completions", asked | options))


def register(name: str) -> str:
    body = {"project": "peft", "name": name, "base_model": MODEL, "return_existing": True}
    return json.loads(ask("POST", "/preview/models", body))["id"]


def train(model_id: str) -> None:
    """Trains one step on answers with different rewards, and waits until the job has ended."""
    prompt = PROMPTS[1]
    choices = chat(model_id, prompt, n=4, seed=1, temperature=1.2)["choices"]
    trajectories = [
        {"messages_and_choices": [{"role": "user", "content": prompt}, choice], "reward": index}
        for index, choice in enumerate(choices)
    ]
    config = {"learning_rate": 0.02}
    body = {"model_id": model_id, "trajectory_groups": [{"trajectories": trajectories}], "experimental_config": config}
    job = json.loads(ask("POST", "/preview/training-jobs", body))["id"]
    events = b""
    while b"training_ended" not in events:
        time.sleep(0.2)
        events = ask("GET", f"/preview/training-jobs/{job}/events?limit=100")
        assert b"training_failed" not in events, events


def exported(model_id: str, step: int, form: str, folder: Path) -> Path:
    archive = ask("GET", f"/preview/models/{model_id}/checkpoints/{step}/export?format={form}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder / form, filter="data")
    return folder / form


def imported(model_id: str, folder: Path) -> dict:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.add(folder, arcname=".")
    return json.loads(ask("POST", f"/preview/models/{model_id}/checkpoints", archive=archive.getvalue()))


def base() -> torch.nn.Module:
    return AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32)


def difference(served: str, model: torch.nn.Module) -> float:
    """Returns the greatest difference between the log-probabilities from Hone and from the library."""
    greatest = 0.0
    for prompt in PROMPTS:
        answer = chat(served, prompt, temperature=0)
        [choice] = answer["choices"]
        prompt_ids, ids = answer["prompt_token_ids"], choice["token_ids"]
        with torch.no_grad():
            scores = model(torch.tensor([prompt_ids + ids])).logits[0].log_softmax(-1)
        for index, (token, entry) in enumerate(zip(ids, choice["logprobs"]["content"], strict=True)):
            computed = scores[len(prompt_ids) + index - 1, token].item()
            greatest = max(greatest, abs(computed - entry["logprob"]))
    return greatest


def check(what: str, served: str, model: torch.nn.Module) -> None:
    found = difference(served, model)
    print(f"  {what}: log-probabilities differ by at most {found:.1e}", flush=True)
    assert found < TOLERANCE, what


def made_by_peft(folder: Path, **options: object) -> torch.nn.Module:
    """Creates an adapter with random matrices and saves it with PEFT."""
    torch.manual_seed(7)
    model = get_peft_model(base(), LoraConfig(task_type="CAUSAL_LM", **({"r": 4, "lora_alpha": 8} | options)))
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.05)
    model.save_pretrained(folder)
    return model.eval()


def check_exports(folder: Path) -> None:
    model_id = register("exported")
    check("the base", MODEL, base())
    train(model_id)
    adapter = PeftModel.from_pretrained(base(), exported(model_id, 1, "peft", folder))
    assert difference(MODEL, adapter) > TOLERANCE, "training changed nothing"
    check("a trained version, its PEFT folder in PEFT", "peft/exported:step1", adapter)
    merged = AutoModelForCausalLM.from_pretrained(exported(model_id, 1, "merged", folder), dtype=torch.float32)
    check("a trained version, its merged folder in Transformers", "peft/exported:step1", merged)


def check_imports(folder: Path) -> None:
    model_id = register("imported")
    for step, (what, options) in enumerate(
        {
            "plain": {"target_modules": PROJECTIONS},
            "rank-stabilised, on all linear layers": {"target_modules": "all-linear", "use_rslora": True, "r": 16},
            "on two projections": {"target_modules": ["q_proj", "v_proj"]},
            "on one layer": {"target_modules": PROJECTIONS, "layers_to_transform": [1]},
            "on what a pattern chooses": {"target_modules": r"model\.layers\.[02]\..*_proj"},
            "on modules by their whole names": {"target_modules": ["model.layers.0.mlp.up_proj", "layers.1.self_attn.q_proj"]},
            "without some modules": {"target_modules": PROJECTIONS, "exclude_modules": ["layers.0.mlp.up_proj"]},
            "with ranks and alphas of their own": {
                "target_modules": PROJECTIONS,
                "rank_pattern": {"q_proj": 2, "^model.layers.1.mlp.up_proj": 16},
                "alpha_pattern": {"self_attn.k_proj": 3, r"layers\.0\.mlp\.down_proj": 32},
            },
        }.items(),
        start=1,
    ):
        model = made_by_peft(folder / str(step), **options)
        version = imported(model_id, folder / str(step))
        assert version["step"] == step and version["job_id"] is None, version
        check(f"an adapter made by PEFT, {what}", f"peft/imported:step{step}", model)
    for what, options in {
        "bias": {"target_modules": PROJECTIONS, "bias": "all"},
        "modules_to_save": {"target_modules": PROJECTIONS, "modules_to_save": ["lm_head"]},
        "use_dora": {"target_modules": PROJECTIONS, "use_dora": True},
        "rank_pattern": {"target_modules": PROJECTIONS, "rank_pattern": {"(q|k)_proj": 2}},
    }.items():
        made_by_peft(folder / what, **options)
        try:
            imported(model_id, folder / what)
        except urllib.error.HTTPError as refusal:
            text = refusal.read().decode()
            assert refusal.code == 400 and what in text, text
        else:
            raise AssertionError(f"an adapter with {what} was accepted")
    print("  adapters with unsupported parts are refused, and the part is named", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="hone-peft-") as folder:
        check_exports(Path(folder))
        check_imports(Path(folder))


if __name__ == "__main__":
    main()
