"""The unmodified ART client against a running Hone: register, roll out, train, serve the new version, clean up.

`run.py` calls it for each supported version. It reads BASE_URL, API_KEY and BASE_MODEL, writes ART's own logs below a
temporary folder, and exits with an error at the first thing that is not as it should be.
"""

import asyncio
import os
import tempfile
import uuid

import art
from art.serverless.backend import ServerlessBackend

REWARDS = {"maybe": 1.0, "no": 0.75, "yes": 0.5}
PROMPTS = [
    "respond with exactly one of 'yes', 'no', 'maybe'",
    "respond with exactly one of 'maybe', 'no', 'yes'",
]


async def roll_out(model: art.TrainableModel, prompt: str, step: int | None) -> art.Trajectory:
    client = model.openai_client()
    messages = [{"role": "user", "content": prompt}]
    answer = await client.chat.completions.create(
        model=model.get_inference_name(step=step),
        messages=messages,
        max_completion_tokens=5,
        temperature=1.2,
    )
    choice = answer.choices[0]
    assert choice.logprobs is not None and choice.logprobs.content, "log-probabilities come without asking"
    assert choice.logprobs.content[0].token.startswith("token_id:"), choice.logprobs.content[0].token
    text = (choice.message.content or "").strip().lower()
    first = "".join(letter for letter in text.split(" ")[0] if letter.isalnum())
    return art.Trajectory(messages_and_choices=[*messages, choice], reward=REWARDS.get(first, 0.0))


async def main() -> None:
    backend = ServerlessBackend(api_key=os.environ["API_KEY"], base_url=os.environ["BASE_URL"])
    name = f"conformance-{uuid.uuid4().hex[:8]}"
    # Version 0.5.23 tells the model's name from the run's.
    names = {"name": name} | ({"run_name": name} if "run_name" in art.TrainableModel.model_fields else {})
    model = art.TrainableModel(
        **names,
        project="conformance",
        base_model=os.environ.get("BASE_MODEL", "hone-tiny"),
        base_path=tempfile.mkdtemp(),
    )
    await model.register(backend)
    assert await model.get_step() == 0
    for step in range(3):
        groups = await art.gather_trajectory_groups(
            [art.TrajectoryGroup(roll_out(model, prompt, step) for _ in range(8)) for prompt in PROMPTS]
        )
        result = await backend.train(model, groups, learning_rate=2e-3)
        rewards = [trajectory.reward for group in groups for trajectory in group]
        print(f"step {result.step}: mean reward {sum(rewards) / len(rewards):.3f}, metrics {result.metrics}")
        assert result.step == step + 1
        assert await model.get_step() == step + 1
    await roll_out(model, PROMPTS[0], None)
    await roll_out(model, PROMPTS[0], 0)
    await backend.delete(model)
    print("the ART client is content")


if __name__ == "__main__":
    asyncio.run(main())
