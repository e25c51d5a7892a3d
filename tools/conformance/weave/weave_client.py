"""Tests how Weave's Python client stores feedback, and reads everything back. Run by run.py."""

import asyncio
import os

import httpx
import weave
from weave.flow.annotation_spec import AnnotationSpec
from weave.trace.feedback import RefFeedbackQuery

PROJECT = "conformance"
client = weave.init(PROJECT)
URL = os.environ["WF_TRACE_SERVER_URL"]
AUTH = ("api", os.environ["WANDB_API_KEY"])


def types(call) -> list[str]:
    """Returns the types of the feedback on a call, as the server lists them."""
    client.flush()
    call.feedback.refresh()
    return [record.feedback_type for record in call.feedback]


@weave.op
def double(x: int) -> int:
    return x * 2


@weave.op
def is_even(output: int) -> dict:
    return {"even": output % 2 == 0}


@weave.op
def broken() -> None:
    raise ValueError("it broke")


def calls_and_feedback() -> None:
    """Adds reactions, notes and free feedback to a call; lists, finds and deletes them."""
    _, call = double.call(21)
    call.feedback.add_reaction("👍🏽", creator="Ada")
    call.feedback.add_note("well done")
    kept = call.feedback.add("score", {"value": 0.5, "parts": [1, {"a": None}]})
    assert types(call) == ["wandb.reaction.1", "wandb.note.1", "score"], types(call)
    reaction = call.feedback[0]
    assert reaction.creator == "Ada" and reaction.payload["alias"] == ":thumbs_up_medium_skin_tone:", reaction
    assert call.feedback[2].payload == {"value": 0.5, "parts": [1, {"a": None}]}
    assert len(client.get_feedback(kept)) == 1
    assert [one.weave_ref for one in client.get_feedback(reaction="👍🏽")] == [call.ref.uri()]
    assert len(client.get_feedback(reaction="👎")) == 0
    call.feedback.purge(kept)
    assert types(call) == ["wandb.reaction.1", "wandb.note.1"]


def stored_calls() -> None:
    """Reads a call back with its inputs, its output and its feedback."""
    _, call = double.call(8)
    call.feedback.add_reaction("🎉")
    client.flush()
    read = client.get_call(call.id, include_feedback=True)
    assert read.inputs["x"] == 8 and read.output == 16, read
    assert [one["feedback_type"] for one in read.summary["weave"]["feedback"]] == ["wandb.reaction.1"]
    assert read.summary["weave"]["status"] == "success"
    assert len(list(client.get_calls(filter={"call_ids": [call.id, "none"]}))) == 1
    _, failed = broken.call()
    client.flush()
    read = client.get_call(failed.id)
    assert "it broke" in read.exception and read.summary["weave"]["status"] == "error", read


def annotations() -> None:
    """Publishes a spec, adds a conforming annotation, and an invalid one that the client drops."""
    spec = AnnotationSpec(name="quality", description="1 to 5", field_schema={"type": "integer", "minimum": 1, "maximum": 5})
    ref = weave.publish(spec, "quality")
    _, call = double.call(1)
    call.feedback.add("wandb.annotation.quality", {"value": 4}, annotation_ref=ref.uri())
    call.feedback.add("wandb.annotation.quality", {"value": 9}, annotation_ref=ref.uri())
    call.feedback.add_note("beside it")
    assert sorted(types(call)) == ["wandb.annotation.quality", "wandb.note.1"], types(call)
    assert weave.ref(ref.uri()).get().field_schema["maximum"] == 5


def scorers() -> None:
    """Stores a scorer's result for a call."""
    _, call = double.call(3)
    asyncio.run(call.apply_scorer(is_even))
    assert types(call) == ["wandb.runnable.is_even"], types(call)
    assert call.feedback[0].payload["output"] == {"even": True}


def evaluation_logger() -> None:
    """Logs an evaluation step by step."""
    logger = weave.EvaluationLogger(name="by-hand", model="model", dataset="rows")
    prediction = logger.log_prediction(inputs={"q": "one"}, output="yes")
    prediction.log_score(scorer="correct", score=True)
    prediction.log_score(scorer="length", score=3)
    prediction.finish()
    logger.log_summary({"average": 1.0})
    client.flush()
    found = [one for one in client.get_feedback(limit=1000) if one.feedback_type in ("wandb.runnable.correct", "wandb.runnable.length")]
    assert {one.payload["output"] for one in found} == {True, 3}, found


def evaluation() -> None:
    """Runs an evaluation on a dataset, and reads the dataset's rows back."""
    dataset = weave.Dataset(name="numbers", rows=[{"x": 1}, {"x": 2}, {"x": 3}])
    published = weave.publish(dataset)
    summary = asyncio.run(weave.Evaluation(name="evaluated", dataset=dataset, scorers=[is_even]).evaluate(double))
    assert summary["is_even"]["even"]["true_count"] == 3, summary
    rows = weave.ref(published.uri()).get().rows
    assert [row["x"] for row in rows] == [1, 2, 3]


def large_dataset() -> None:
    """Publishes a dataset that the client sends in parts."""
    rows = [{"x": number, "text": "é" * 1000} for number in range(4000)]
    published = weave.publish(weave.Dataset(name="large", rows=rows))
    read = weave.ref(published.uri()).get().rows
    assert len(read) == 4000
    assert [row["x"] for row in read] == list(range(4000))


def replacement() -> None:
    """Replaces a record: it keeps its id, and its old content is no longer listed."""
    _, call = double.call(5)
    kept = call.feedback.add_note("first")
    client.flush()
    record = {"project_id": f"{client.entity}/{PROJECT}", "weave_ref": call.ref.uri(), "feedback_type": "wandb.note.1"}
    body = record | {"feedback_id": kept, "payload": {"note": "second"}}
    httpx.post(f"{URL}/feedback/replace", json=body, auth=AUTH).raise_for_status()
    call.feedback.refresh()
    assert [one.payload["note"] for one in call.feedback] == ["second"]


def many() -> None:
    """Sends more records than a batch may have, on an unknown call: the client splits them, and all arrive."""
    uri = f"weave:///{client.entity}/{PROJECT}/call/0192d3a4-0000-7000-8000-000000000000"
    on_call = RefFeedbackQuery(uri)
    for number in range(25_000):
        on_call.add("many", {"number": number})
    client.flush()
    query = {"$expr": {"$eq": [{"$getField": "feedback_type"}, {"$literal": "many"}]}}
    body = {"project_id": f"{client.entity}/{PROJECT}", "query": query, "fields": ["count(*)"]}
    answer = httpx.post(f"{URL}/feedback/query", json=body, auth=AUTH).raise_for_status().json()
    assert answer["result"] == [{"count(*)": 25_000}], answer


def deletion() -> None:
    """Deletes a project's published objects and calls; its feedback stays."""
    assert len(list(client.get_calls())) > 5
    traces = f"{URL}/v1/preview/projects/{client.entity}/{PROJECT}/traces"
    httpx.delete(traces, headers={"authorization": f"Bearer {AUTH[1]}"}).raise_for_status()
    assert list(client.get_calls()) == []
    assert len(client.get_feedback()) == 100


FLOWS = [calls_and_feedback, stored_calls, annotations, scorers, evaluation_logger, evaluation, large_dataset, replacement, many, deletion]

for flow in FLOWS:
    flow()
    print(f"{flow.__name__}: passed", flush=True)
client.finish()
