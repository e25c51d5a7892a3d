"""Runs recipes of tinker-cookbook against Hone, unmodified and with small settings: sl_loop, rl_loop, DPO, prompt
distillation, math_rl with PPO, and on-policy distillation. Only the data sets differ: those of the hub are replaced by a few rows of the same form."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import datasets

MODEL, WORK = os.environ["MODEL"], Path(os.environ["WORK_FOLDER"])

COLORS = ("red", "green", "blue", "black")


def rows(count: int) -> list[dict]:
    return [{"n": at, "color": COLORS[at % 4]} for at in range(count)]


def load_dataset(name: str, *_args, split: str | None = None, **_options) -> datasets.Dataset | datasets.DatasetDict:
    made = {
        "HuggingFaceH4/no_robots": lambda row: {
            "messages": [
                {"role": "user", "content": f"Color {row['n']}?"},
                {"role": "assistant", "content": row["color"]},
            ]
        },
        "openai/gsm8k": lambda row: {"question": f"What is {row['n']} + 1?", "answer": f"#### {row['n'] + 1}"},
        "zwhe99/DeepMath-103K": lambda row: {"question": f"What is {row['n']} + 1?", "final_answer": f"{row['n'] + 1}"},
        "Anthropic/hh-rlhf": lambda row: {
            "chosen": f"\n\nHuman: Color {row['n']}?\n\nAssistant: {row['color']}",
            "rejected": f"\n\nHuman: Color {row['n']}?\n\nAssistant: no",
        },
    }[name]
    whole = datasets.Dataset.from_list([made(row) for row in rows(32)])
    return whole if split else datasets.DatasetDict({"train": whole, "test": whole})


datasets.load_dataset = load_dataset


def metrics_of(log: Path) -> list[dict]:
    return [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]


def check_supervised() -> None:
    from tinker_cookbook.recipes import sl_loop

    log = WORK / "sl"
    sl_loop.main(
        sl_loop.Config(
            log_path=str(log), model_name=MODEL, batch_size=4, learning_rate=2e-3, max_length=256, lora_rank=8,
            save_every=3, max_steps=8,
        )
    )
    losses = [each["train_mean_nll"] for each in metrics_of(log) if "train_mean_nll" in each]
    assert losses[-1] < losses[0] - 0.5, losses
    print(f"sl_loop: loss per token {losses[0]:.3f} -> {losses[-1]:.3f}", flush=True)


def check_reinforcement() -> None:
    from tinker_cookbook.recipes import rl_loop

    # A random model solves no sums, so each digit counts: the reward is the share of digits. This replaces only the
    # recipe's grading.
    rl_loop.get_reward = lambda response, _answer: sum(each.isdigit() for each in response) / max(1, len(response))
    log = WORK / "rl"
    rl_loop.main(
        rl_loop.Config(
            log_path=str(log), model_name=MODEL, batch_size=4, group_size=8, learning_rate=2e-3, lora_rank=8, save_every=3,
            max_tokens=12, max_steps=8,
        )
    )
    rewards = [each["reward/total"] for each in metrics_of(log) if "reward/total" in each]
    assert sum(rewards[-2:]) > sum(rewards[:2]), rewards
    print(f"rl_loop: rewards {' '.join(f'{each:.2f}' for each in rewards)}", flush=True)


def check_preferences() -> None:
    from tinker_cookbook.recipes.preference.dpo import train

    log = WORK / "dpo"
    train.cli_main(
        train.CLIConfig(
            model_name=MODEL, log_path=str(log), batch_size=4, learning_rate=1e-3, max_length=256, max_steps=6,
            behavior_if_log_dir_exists="delete",
        )
    )
    steps = [each for each in metrics_of(log) if "dpo_loss" in each]
    assert steps[-1]["dpo_loss"] < steps[0]["dpo_loss"], steps
    print(f"DPO: loss {steps[0]['dpo_loss']:.3f} -> {steps[-1]['dpo_loss']:.3f}", flush=True)


def check_distillation() -> None:
    from tinker_cookbook.recipes.prompt_distillation import train

    data = WORK / "distillation.jsonl"
    lines = [
        {"messages": [{"role": "user", "content": f"Color {row['n']}?"}, {"role": "assistant", "content": row["color"]}]}
        for row in rows(16)
    ]
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    log = WORK / "distillation"
    train.cli_main(
        train.CLIConfig(
            file_path=str(data), log_path=str(log), model_name=MODEL, learning_rate=2e-3, num_epochs=2, lora_rank=8,
            save_every=0, eval_every=0, max_length=256, batch_size=4, behavior_if_log_dir_exists="delete",
        )
    )
    losses = [each["train_mean_nll"] for each in metrics_of(log) if "train_mean_nll" in each]
    assert losses[-1] < losses[0], losses
    print(f"prompt distillation: loss per token {losses[0]:.3f} -> {losses[-1]:.3f}", flush=True)


def check_math() -> None:
    from tinker_cookbook.recipes.math_rl import train

    log = WORK / "math"
    asyncio.run(
        train.cli_main(
            train.CLIConfig(
                model_name=MODEL, log_path=str(log), env="arithmetic", group_size=4, groups_per_batch=4, lora_rank=8,
                loss_fn="ppo", num_substeps=2, compute_post_kl=True, eval_every=0, save_every=1, max_steps=2,
                behavior_if_log_dir_exists="delete",
            )
        )
    )
    saved = [json.loads(line)["name"] for line in (log / "checkpoints.jsonl").read_text().splitlines()]
    assert "final" in saved, saved
    print(f"math_rl with PPO: {len(metrics_of(log))} rounds, saved weights {' '.join(saved)}", flush=True)


def check_on_policy() -> None:
    from tinker_cookbook.recipes.distillation import on_policy_distillation

    log = WORK / "on-policy"
    asyncio.run(
        on_policy_distillation.cli_main(
            on_policy_distillation.CLIConfig(
                model_name=MODEL, teacher_model=MODEL, log_path=str(log), lora_rank=8, group_size=2, groups_per_batch=2,
                max_tokens=8, eval_every=0, max_steps=2, behavior_if_log_dir_exists="delete",
            )
        )
    )
    # The teacher is the student's base model, so they agree before the first step.
    divergence = metrics_of(log)[0]["teacher_kl"]
    assert abs(divergence) < 0.01, divergence
    print(f"on-policy distillation: divergence from the teacher at first {divergence:.4f}", flush=True)


CHECKS = {
    "sl_loop": check_supervised,
    "rl_loop": check_reinforcement,
    "dpo": check_preferences,
    "distillation": check_distillation,
    "math": check_math,
    "on_policy": check_on_policy,
}


def main() -> None:
    if names := sys.argv[1:]:
        for name in names:
            CHECKS[name]()
        return
    # Each recipe is a program of its own, because its models train until the program ends.
    for name in CHECKS:
        began = time.time()
        subprocess.run([sys.executable, __file__, name], check=True)
        print(f"{name}: {time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
