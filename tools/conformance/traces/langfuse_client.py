"""Runs Langfuse's Python library, and reads back what Hone stored of its observations and scores."""

import base64
import json
import os
import urllib.request

from langfuse import Langfuse, observe
from langfuse.openai import OpenAI

langfuse = Langfuse()
assert langfuse.auth_check()
client = OpenAI(max_retries=0)
ids: dict[str, str] = {}


@observe()
def ask(question: str) -> str:
    with langfuse.start_as_current_observation(
        name="draft", as_type="generation", model="other", input=[{"role": "user", "content": question}]
    ) as generation:
        generation.update(output="Paris.", usage_details={"input": 5, "output": 2})
        generation.score(name="quality", value=0.9, comment="short")
        ids["draft"] = generation.id
        ids["trace"] = generation.trace_id
    answer = client.chat.completions.create(
        name="answer", model="hone-tiny", max_tokens=8, messages=[{"role": "user", "content": question}]
    )
    langfuse.score_current_trace(name="helpful", value=1, data_type="BOOLEAN")
    return answer.choices[0].message.content or ""


said = ask("What is the capital of France?")
for value in (0.5, 1.0):
    langfuse.create_score(score_id="again", trace_id=ids["trace"], name="tone", value=value)
langfuse.flush()
langfuse.shutdown()


def post(path: str, body: dict[str, object]) -> str:
    key = base64.b64encode(f"api:{os.environ['LANGFUSE_SECRET_KEY']}".encode()).decode()
    headers = {"content-type": "application/json", "authorization": f"Basic {key}"}
    request = urllib.request.Request(os.environ["HONE_URL"] + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()


project = "local/langfuse"
lines = post("/calls/stream_query", {"project_id": project, "filter": {"trace_ids": [ids["trace"]]}}).splitlines()
calls = {call["op_name"]: call for call in map(json.loads, lines)}
assert set(calls) == {"ask", "draft", "answer"}, list(calls)
assert calls["draft"]["parent_id"] == calls["ask"]["id"]
assert calls["answer"]["output"]["choices"][0]["message"]["content"] == said
assert calls["answer"]["inputs"]["model"] == "hone-tiny"
assert calls["draft"]["summary"]["usage"]["other"]["total_tokens"] == 7
records = json.loads(post("/feedback/query", {"project_id": project}))["result"]
scores = {
    record["payload"]["name"]: (record["payload"]["value"], record["weave_ref"].rsplit("/", 1)[1])
    for record in records
    if record["payload"]["trace_id"] == ids["trace"]
}
assert scores == {"quality": (0.9, ids["draft"]), "helpful": (1, ids["trace"]), "tone": (1, ids["trace"])}, scores
print("langfuse: 3 calls and 3 scores")
