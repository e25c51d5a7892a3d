"""Runs LiteLLM's functions for files and fine-tuning jobs, which send OpenAI's requests to another address."""

import io
import json
import os
import time
from importlib.metadata import version

import litellm

TO = {
    "custom_llm_provider": "openai",
    "api_base": os.environ["OPENAI_BASE_URL"],
    "api_key": os.environ["OPENAI_API_KEY"],
}
LESSON = {
    "messages": [
        {"role": "user", "content": "Where are you?"},
        {"role": "assistant", "content": "I am on this machine."},
    ]
}

data = (json.dumps(LESSON) + "\n").encode() * 2
file = litellm.create_file(file=("lessons.jsonl", io.BytesIO(data)), purpose="fine-tune", **TO)
assert litellm.file_retrieve(file_id=file.id, **TO).id == file.id
assert litellm.file_content(file_id=file.id, **TO).content == data
assert file.id in [one.id for one in litellm.file_list(**TO)]


def create(**more: object) -> object:
    return litellm.create_fine_tuning_job(model="gpt-4o-mini-2024-07-18", training_file=file.id, **more, **TO)


job = create(hyperparameters={"n_epochs": 30, "learning_rate_multiplier": 10.0}, suffix="here")
assert job.id in [one.id for one in litellm.list_fine_tuning_jobs(limit=5, **TO)]
while job.status in ("validating_files", "queued", "running"):
    time.sleep(0.5)
    job = litellm.retrieve_fine_tuning_job(fine_tuning_job_id=job.id, **TO)
assert job.status == "succeeded", job.error
answer = litellm.completion(
    model=job.fine_tuned_model, messages=LESSON["messages"][:1], temperature=0, max_tokens=20, **TO
)
assert answer.choices[0].message.content == "I am on this machine.", answer

long = create(hyperparameters={"n_epochs": 1000})
litellm.cancel_fine_tuning_job(fine_tuning_job_id=long.id, **TO)
while (status := litellm.retrieve_fine_tuning_job(fine_tuning_job_id=long.id, **TO).status) == "running":
    time.sleep(0.5)
assert status == "cancelled", status
assert litellm.file_delete(file_id=file.id, **TO).deleted
print(f"litellm {version('litellm')}: files and fine-tuning jobs work")
