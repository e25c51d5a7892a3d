"""Runs the steps of OpenAI's guides to supervised, preference and reinforcement fine-tuning with OpenAI's Python library.

Each function does what one guide shows, with the model names of the guide. The hyperparameters are small, so that a job takes
seconds on a CPU.
"""

import hashlib
import io
import json
import time
from typing import Any

import openai
from openai import OpenAI

client = OpenAI()


def lines(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def upload(name: str, *rows: object) -> str:
    file = io.BytesIO(lines(*rows))
    file.name = name
    return client.files.create(file=file, purpose="fine-tune").id


def ended(job_id: str) -> Any:
    while True:
        job = client.fine_tuning.jobs.retrieve(job_id)
        if job.status in ("succeeded", "failed", "cancelled"):
            return job
        time.sleep(0.5)


def conversation(question: str, answer: str) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]}


LESSONS = [
    conversation("What is the capital of France?", "Paris, as if everyone doesn't know that already."),
    conversation("Who wrote Romeo and Juliet?", "Oh, just some guy named William Shakespeare."),
]


def supervised() -> str:
    """Uploads a file, trains on it, follows the events, and uses the model with the Responses and the chat API."""
    job = client.fine_tuning.jobs.create(
        training_file=upload("mydata.jsonl", *LESSONS),
        validation_file=upload("validation.jsonl", LESSONS[1]),
        model="gpt-4.1-nano-2025-04-14",
        suffix="marv",
        method={
            "type": "supervised",
            "supervised": {"hyperparameters": {"n_epochs": 40, "batch_size": 1, "learning_rate_multiplier": 10}},
        },
    )
    assert job.model == "gpt-4.1-nano-2025-04-14", job.model
    assert job.status in ("validating_files", "queued", "running"), job.status
    assert job.id in [one.id for one in client.fine_tuning.jobs.list(limit=10).data]
    job = ended(job.id)
    assert job.status == "succeeded", job.error
    events = client.fine_tuning.jobs.list_events(fine_tuning_job_id=job.id, limit=10).data
    assert any(event.type == "metrics" for event in events), events
    losses = [(event.data or {}).get("full_valid_loss") for event in client.fine_tuning.jobs.list_events(job.id)]
    measured = [loss for loss in losses if loss is not None]
    assert len(measured) == 40 and measured[0] < measured[-1], measured
    (checkpoint,) = client.fine_tuning.jobs.checkpoints.list(job.id).data
    assert checkpoint.metrics.full_valid_loss == measured[0], checkpoint
    question = "What is the capital of France?"
    completion = client.chat.completions.create(
        model=job.fine_tuned_model, messages=[{"role": "user", "content": question}], temperature=0
    )
    assert completion.choices[0].message.content == LESSONS[0]["messages"][1]["content"], completion
    response = client.responses.create(model=checkpoint.fine_tuned_model_checkpoint, input=question, temperature=0)
    assert response.output_text == completion.choices[0].message.content, response
    return job.fine_tuned_model


def uploaded_in_parts() -> None:
    """Uploads a file in parts, and cancels the job that trains on it."""
    data = lines(*(conversation(f"What is {number}?", f"It is {number}.") for number in range(200)))
    upload = client.uploads.create(
        filename="numbers.jsonl", purpose="fine-tune", bytes=len(data), mime_type="text/jsonl"
    )
    parts = [client.uploads.parts.create(upload.id, data=data[at : at + 4000]) for at in range(0, len(data), 4000)]
    done = client.uploads.complete(
        upload.id, part_ids=[part.id for part in parts], md5=hashlib.md5(data).hexdigest()
    )
    assert done.status == "completed" and done.file is not None and done.file.bytes == len(data), done
    chunked = client.uploads.upload_file_chunked(
        file=data, filename="again.jsonl", bytes=len(data), mime_type="text/jsonl", purpose="fine-tune", part_size=9000
    )
    assert chunked.file is not None
    assert client.files.content(chunked.file.id).read() == data
    job = client.fine_tuning.jobs.create(training_file=done.file.id, model="gpt-4.1-mini-2025-04-14")
    client.fine_tuning.jobs.cancel(job.id)
    assert ended(job.id).status == "cancelled"


def dpo(model: str) -> None:
    """Trains a fine-tuned model further, on preferences."""
    pair = {
        "input": {"messages": [{"role": "user", "content": "Hello, can you tell me how cold San Francisco is?"}]},
        "preferred_output": [{"role": "assistant", "content": "Today it is not quite cold."}],
        "non_preferred_output": [{"role": "assistant", "content": "It is not particularly cold."}],
    }
    job = client.fine_tuning.jobs.create(
        training_file=upload("preferences.jsonl", pair, pair),
        validation_file=upload("held-out.jsonl", pair),
        model=model,
        method={"type": "dpo", "dpo": {"hyperparameters": {"beta": 0.1, "n_epochs": 2}}},
    )
    job = ended(job.id)
    assert job.status == "succeeded" and job.fine_tuned_model, job.error
    (checkpoint,) = client.fine_tuning.jobs.checkpoints.list(job.id).data
    assert checkpoint.metrics.full_valid_loss < 0.7, checkpoint


ITEMS = [
    {
        "messages": [{"role": "user", "content": "Do you have a dedicated security team?"}],
        "compliant": "yes",
        "explanation": "A dedicated security team follows strict protocols.",
    },
    {
        "messages": [{"role": "user", "content": "Is your software SOC 2 certified?"}],
        "compliant": "no",
        "explanation": "The policy does not mention it.",
    },
]
SCORE = {
    "name": "Explanation text grader",
    "type": "score_model",
    "input": [
        {
            "role": "user",
            "type": "message",
            "content": "Score from 0 to 1. Reference: {{item.explanation}} Answer: {{sample.output_json.explanation}}",
        }
    ],
    "model": "gpt-4o-2024-08-06",
}
COMPLIANT = {
    "name": "compliant",
    "type": "string_check",
    "reference": "{{item.compliant}}",
    "operation": "eq",
    "input": "{{sample.output_json.compliant}}",
}
# The guide's grader, which has no name of its own.
MULTI = {
    "type": "multi",
    "graders": {"explanation": SCORE, "compliant": COMPLIANT},
    "calculate_output": "0.5 * compliant + 0.5 * explanation",
}
SIMILARITY = {
    "type": "text_similarity",
    "name": "similarity",
    "input": "{{sample.output_text}}",
    "reference": "{{item.explanation}}",
}
LABEL = {
    "type": "label_model",
    "name": "label",
    "model": "gpt-4o-2024-08-06",
    "input": [{"role": "user", "content": "Is this an answer? {{sample.output_text}}"}],
    "labels": ["yes", "no"],
    "passing_labels": ["yes"],
}
SCHEMA = {
    "type": "object",
    "properties": {"compliant": {"enum": ["yes", "no", "needs review"]}, "explanation": {"type": "string", "maxLength": 40}},
    "required": ["compliant", "explanation"],
    "additionalProperties": False,
}


def graders() -> None:
    """Validates and runs each grader, and reads the refusals of those that Hone does not have."""
    alpha = client.fine_tuning.alpha.graders
    sample = json.dumps({"compliant": "yes", "explanation": "A dedicated security team follows strict protocols."})
    metrics = ["cosine", "fuzzy_match", "bleu", "gleu", "rouge_1", "rouge_2", "rouge_3", "rouge_4", "rouge_5", "rouge_l"]
    similar = [{**SIMILARITY, "evaluation_metric": metric} for metric in metrics]
    for grader in [COMPLIANT, SCORE, LABEL, MULTI, *similar]:
        assert alpha.validate(grader=grader).grader is not None
        ran = alpha.run(grader=grader, item=ITEMS[0], model_sample=sample)
        errors = [name for name, value in ran.metadata.errors if value is True and name != "model_grader_parse_error"]
        assert not errors and -1 <= ran.reward <= 1, ran
    assert alpha.run(grader=COMPLIANT, item=ITEMS[0], model_sample=sample).reward == 1
    refused = [
        ({"type": "python", "name": "code", "source": "def grade(sample, item): return 1.0"}, "python"),
        ({**SIMILARITY, "evaluation_metric": "meteor"}, "meteor"),
    ]
    for grader, word in refused:
        try:
            alpha.validate(grader=grader)
        except openai.BadRequestError as error:
            assert word in str(error), error
        else:
            raise AssertionError(f"{word} was not refused")


def reinforcement() -> None:
    """Trains with the guide's grader and response format, pauses the job, resumes it, and uses a checkpoint."""
    files = [upload(name, *ITEMS) for name in ("train.jsonl", "test.jsonl")]
    job = client.fine_tuning.jobs.create(
        training_file=files[0],
        validation_file=files[1],
        model="o4-mini-2025-04-16",
        method={
            "type": "reinforcement",
            "reinforcement": {
                "grader": MULTI,
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "security_assistant", "strict": True, "schema": SCHEMA},
                },
                "hyperparameters": {"reasoning_effort": "medium", "n_epochs": 3, "batch_size": 2, "eval_interval": 1},
            },
        },
    )
    paused = client.fine_tuning.jobs.pause(job.id)
    assert paused.status == "paused", paused.status
    resumed = client.fine_tuning.jobs.resume(job.id)
    assert resumed.status in ("queued", "running"), resumed.status
    job = ended(job.id)
    assert job.status == "succeeded", job.error
    data = [event.data or {} for event in client.fine_tuning.jobs.list_events(job.id)]
    for metric in ("train_reward_mean", "valid_reward_mean"):
        values = [row[metric] for row in data if metric in row]
        assert len(values) >= 3 and all(0 <= value <= 1 for value in values), (metric, values)
    checkpoints = client.fine_tuning.jobs.checkpoints.list(job.id).data
    assert checkpoints, "no step made a version"
    response = client.responses.create(
        model=checkpoints[0].fine_tuned_model_checkpoint, input="Is your software certified?", max_output_tokens=20
    )
    assert response.output_text, response


def other_graders() -> None:
    """Trains one step with each other grader."""
    grader_list = [COMPLIANT, SCORE, LABEL, {**SIMILARITY, "evaluation_metric": "fuzzy_match"}]
    train = upload("train.jsonl", *ITEMS)
    for grader in grader_list:
        job = client.fine_tuning.jobs.create(
            training_file=train,
            model="o4-mini-2025-04-16",
            method={
                "type": "reinforcement",
                "reinforcement": {"grader": grader, "hyperparameters": {"n_epochs": 1, "batch_size": 2}},
            },
        )
        job = ended(job.id)
        assert job.status == "succeeded", (grader["type"], job.error)


fine_tuned = supervised()
uploaded_in_parts()
dpo(fine_tuned)
graders()
reinforcement()
other_graders()
try:
    client.fine_tuning.jobs.create(training_file=upload("a.jsonl", *LESSONS), model="o3")
except openai.NotFoundError as error:
    assert "hone-tiny" in str(error), error
else:
    raise AssertionError("an unknown model was not refused")
print(f"openai {openai.__version__}: supervised, DPO and reinforcement jobs, uploads in parts, and graders work")
