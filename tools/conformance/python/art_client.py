"""Runs the unmodified ART client against a running Hone: registers a model, learns a task, serves each version, trains on
conversations, and cleans up.

`run.py` calls it for each supported version. It reads BASE_URL, API_KEY and BASE_MODEL, writes ART's own logs to a temporary
folder, and exits with an error at the first failed check. The task is ART's own test of trainability: one of three words earns
more than the others.
"""

import asyncio
import json
import os
import tempfile
import uuid

import art
from art.serverless.backend import ServerlessBackend
from openai import AsyncOpenAI

REWARDS = {"maybe": 1.0, "no": 0.75, "yes": 0.5}
ORDERS = [
    ["yes", "no", "maybe"],
    ["yes", "maybe", "no"],
    ["no", "yes", "maybe"],
    ["no", "maybe", "yes"],
    ["maybe", "yes", "no"],
    ["maybe", "no", "yes"],
    ["yes", "no"],
    ["yes", "maybe"],
]
PROMPTS = ["respond with exactly one of " + ", ".join(f"'{word}'" for word in words) for words in ORDERS]
# Required reward at the end, and the maximum number of training steps.
REWARD_MIN = 0.9
STEPS_MAX = 12
# Learning rate of the training steps.
LEARNING_RATE = 1e-4


def reward_of(text: str) -> float:
    first = text.strip().lower().split(" ")[0]
    return REWARDS.get("".join(letter for letter in first if letter.isalnum()), 0.0)


async def roll_out(model: art.TrainableModel, prompt: str) -> art.TrajectoryGroup:
    messages = [{"role": "user", "content": prompt}]
    answer = await model.openai_client().chat.completions.create(
        model=model.get_inference_name(), messages=messages, n=8, max_tokens=5, temperature=1.2
    )
    for choice in answer.choices:
        assert choice.logprobs is not None and choice.logprobs.content, "log-probabilities are returned without being requested"
        assert choice.logprobs.content[0].token.startswith("token_id:"), choice.logprobs.content[0].token
    return art.TrajectoryGroup(
        art.Trajectory(messages_and_choices=[*messages, choice], reward=reward_of(choice.message.content or ""))
        for choice in answer.choices
    )


async def evaluate(model: art.TrainableModel, step: int) -> float:
    """Returns the mean reward of one version's greedy answers."""
    client = model.openai_client()
    answers = [
        await client.chat.completions.create(
            model=model.get_inference_name(step=step),
            messages=[{"role": "user", "content": prompt}],
            max_tokens=5,
            temperature=0,
        )
        for prompt in PROMPTS
    ]
    rewards = [reward_of(answer.choices[0].message.content or "") for answer in answers]
    return sum(rewards) / len(rewards)


async def served_names(client: AsyncOpenAI) -> list[str]:
    return [model.id async for model in client.models.list()]


def is_served(name: str, names: list[str]) -> bool:
    """True if the list contains the name without its scheme."""
    return name.split("///", 1)[-1] in names


async def learn_the_task(backend: ServerlessBackend, model: art.TrainableModel) -> int:
    """Trains until the greedy answers earn enough; returns the version that gave them."""
    client = model.openai_client()
    assert is_served(model.get_inference_name(step=0), await served_names(client)), "version 0 is listed"
    initial = reward = await evaluate(model, 0)
    assert initial < REWARD_MIN, f"the base model already earns too much: {initial:.3f}"
    step = 0
    while reward < REWARD_MIN and step < STEPS_MAX:
        groups = [await roll_out(model, prompt) for prompt in PROMPTS]
        result = await backend.train(model, groups, learning_rate=LEARNING_RATE)
        step += 1
        assert result.step == step and await model.get_step() == step
        reward = await evaluate(model, step)
        print(f"step {step}: greedy reward {reward:.3f}, loss {result.metrics.get('loss/train')}", flush=True)
    assert reward >= REWARD_MIN and reward > initial, f"from {initial:.3f} to {reward:.3f} in {step} steps"
    names = await served_names(client)
    assert is_served(model.get_inference_name(step=step), names), "the newest version is listed"
    assert is_served(model.get_inference_name(step=0), names), "version 0 is still listed"
    return step


async def learn_conversations(backend: ServerlessBackend, model: art.TrainableModel) -> None:
    """Makes the call of ART's supervised training with a file on this server, because ART itself uploads to an external service."""
    line = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]}
    text = "\n".join([json.dumps(line)] * 6)
    file = await model.openai_client().files.create(file=("train.jsonl", text.encode()), purpose="fine-tune")
    jobs = backend._client.sft_training_jobs
    config = {"batch_size": 2, "learning_rate": [1e-4, 2e-4, 3e-4]}
    job = await jobs.create(model_id=model.id, training_data_url=file.id, config=config)
    while True:
        events = [event async for event in jobs.events.list(training_job_id=job.id)]
        last = events[-1].type if events else None
        assert last != "training_failed", events[-1].data
        if last == "training_ended":
            break
        await asyncio.sleep(0.5)
    steps = [event.data for event in events if event.type == "gradient_step"]
    assert [step["learning_rate"] for step in steps] == config["learning_rate"], steps
    for name in ("loss", "grad_norm", "num_trajectories", "num_tokens", "num_trainable_tokens"):
        assert all(float(step[name]) > 0 for step in steps), name


async def main() -> None:
    backend = ServerlessBackend(api_key=os.environ["API_KEY"], base_url=os.environ["BASE_URL"])
    name = f"conformance-{uuid.uuid4().hex[:8]}"
    # Version 0.5.23 distinguishes the model's name from the run's.
    names = {"name": name} | ({"run_name": name} if "run_name" in art.TrainableModel.model_fields else {})
    model = art.TrainableModel(
        **names,
        project="conformance",
        base_model=os.environ.get("BASE_MODEL", "hone-tiny"),
        base_path=tempfile.mkdtemp(),
    )
    await model.register(backend)
    assert await model.get_step() == 0
    step = await learn_the_task(backend, model)
    await learn_conversations(backend, model)
    assert await model.get_step() == step + 1
    await model.delete_checkpoints()
    kept = await served_names(model.openai_client())
    assert is_served(model.get_inference_name(step=step + 1), kept), "the newest version is kept"
    await backend.delete(model)
    print("the ART client passed")


if __name__ == "__main__":
    asyncio.run(main())
