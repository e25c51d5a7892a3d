"""The unmodified ART client against a running Hone: register, roll out, train, serve the new version, clean up.

Optional, and never part of the product. It needs Python 3.12:

    python3.12 -m venv .venv
    .venv/bin/pip install "openpipe-art==0.5.18" "openai>=2.14,<3" "polars<2" pyarrow numpy wandb
    npm start
    env -u WANDB_API_KEY BASE_URL=http://127.0.0.1:8000/v1 API_KEY="$(cat .hone/admin-key)" .venv/bin/python conformance/art_client.py

ART writes its own logs below a temporary folder. Exits with an error at the first thing that is not as it should be.
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
    model = art.TrainableModel(
        name=f"conformance-{uuid.uuid4().hex[:8]}",
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
