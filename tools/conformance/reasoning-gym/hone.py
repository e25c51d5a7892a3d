"""A minimal client of Hone for learning over HTTP: chats, models and jobs. Uses only the standard library."""

import http.client
import json
import os
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterable

PARALLEL = 16


def request(method: str, path: str, body: object = None) -> dict[str, Any]:
    address = urllib.parse.urlparse(os.environ["BASE_URL"])
    connection = http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port, timeout=600)
    try:
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {"content-type": "application/json"})
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise SystemExit(f"{method} {path}: {response.status} {answer[:2000]!r}")
        return json.loads(answer)
    finally:
        connection.close()


def choices(model: str, messages: list[dict[str, str]], **sampling: Any) -> list[dict[str, Any]]:
    """Returns the model's answers, each choice in the form that a training job accepts."""
    body = {"model": model, "messages": messages, **sampling}
    return request("POST", "/v1/chat/completions", body)["choices"]


def at_once[Item, Result](run: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Runs several items concurrently; returns the results in the order of the items."""
    with ThreadPoolExecutor(PARALLEL) as pool:
        return list(pool.map(run, items))


def train(path: str, body: dict[str, Any]) -> None:
    """Starts a job and waits until its version exists."""
    job = request("POST", path, body)["id"]
    while (state := request("GET", f"/v1/preview/training-jobs/{job}"))["state"] not in ("succeeded", "failed", "cancelled"):
        time.sleep(0.2)
    if state["state"] != "succeeded":
        raise SystemExit(f"the job {job} is {state['state']}: {state['error_message']}")
