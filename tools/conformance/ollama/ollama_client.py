"""The Python packages `ollama`, `langchain-ollama` and `llama-index-llms-ollama`, unmodified, against the server at OLLAMA_HOST."""

import os

import ollama
from langchain_core.messages import HumanMessage
from langchain_ollama import ChatOllama, OllamaEmbeddings
from llama_index.core.llms import ChatMessage
from llama_index.llms.ollama import Ollama as LlamaIndexOllama
from pydantic import BaseModel, Field

MODEL = os.environ["MODEL"]
HOST = os.environ["OLLAMA_HOST"]
OPTIONS = {"temperature": 0, "num_predict": 16}
QUESTION = [{"role": "user", "content": "What is the weather in Oslo?"}]
client = ollama.Client()


class Weather(BaseModel):
    degrees: int = Field(ge=-40, le=40)
    raining: bool


def weather(city: str) -> str:
    """The weather in a city.

    Args:
      city: name of the city
    """
    return f"rain in {city}"


def models() -> None:
    [listed] = [model for model in client.list().models if model.model == f"{MODEL}:latest"]
    assert listed.size > 0 and len(listed.digest) == 64 and listed.details.family
    shown = client.show(MODEL)
    assert "tools" in shown.capabilities and shown.modelinfo["general.architecture"]
    assert any(model.model == f"{MODEL}:latest" for model in client.ps().models)
    assert client.pull(MODEL).status == "success"
    assert [part.status for part in client.pull(MODEL, stream=True)][-1] == "success"


def chats() -> None:
    whole = client.chat(MODEL, QUESTION, options=OPTIONS)
    parts = list(client.chat(MODEL, QUESTION, options=OPTIONS, stream=True, think=False))
    assert "".join(part.message.content for part in parts) == whole.message.content
    assert parts[-1].done and parts[-1].eval_count == whole.eval_count > 0
    answer = client.chat(MODEL, QUESTION, format=Weather.model_json_schema(), options={"num_predict": 128})
    Weather.model_validate_json(answer.message.content)
    call = {"role": "assistant", "tool_calls": [{"function": {"name": "weather", "arguments": {"city": "Oslo"}}}]}
    result = {"role": "tool", "tool_name": "weather", "content": "rain"}
    assert client.chat(MODEL, [*QUESTION, call, result], tools=[weather], options=OPTIONS).eval_count > 0


def texts() -> None:
    answer = client.generate(MODEL, "Hi", system="Be short", options=OPTIONS)
    assert answer.done_reason in ("stop", "length") and answer.total_duration >= answer.eval_duration > 0
    raw = list(client.generate(MODEL, "Hi", raw=True, stream=True, options=OPTIONS))
    assert raw[-1].eval_count > 0
    assert client.generate(MODEL).done_reason == "load"
    vectors = client.embed(MODEL, ["a cat", "a dog"], truncate=True).embeddings
    assert len(vectors) == 2 and list(client.embeddings(MODEL, "a cat").embedding) == list(vectors[0])


def errors() -> None:
    for call, status in (
        (lambda: client.chat("nothing", QUESTION), 404),
        (lambda: client.pull("nothing"), 404),
        (lambda: client.chat(MODEL, QUESTION, options={"top_p": 9}), 400),
        (lambda: client.push(MODEL), 400),
        (lambda: ollama.Client(headers={"authorization": "Bearer wrong"}).list(), 401),
    ):
        try:
            call()
        except ollama.ResponseError as error:
            assert error.status_code == status and isinstance(error.error, str), error
        else:
            raise AssertionError("the call succeeded")


def langchain() -> None:
    headers = {"headers": {"authorization": f"Bearer {os.environ['OLLAMA_API_KEY']}"}}
    chat = ChatOllama(
        model=MODEL, base_url=HOST, client_kwargs=headers, validate_model_on_init=True, temperature=0, num_predict=16
    )
    answer = chat.invoke([HumanMessage("Hi")])
    assert answer.usage_metadata["output_tokens"] > 0
    assert "".join(part.content for part in chat.stream("Hi")) == answer.content
    longer = ChatOllama(model=MODEL, base_url=HOST, client_kwargs=headers, num_predict=128)
    structured = longer.with_structured_output(Weather, method="json_schema").invoke("Weather?")
    assert isinstance(structured, Weather)
    assert chat.bind_tools([weather]).invoke("Hi") is not None
    vectors = OllamaEmbeddings(model=MODEL, base_url=HOST, client_kwargs=headers).embed_documents(["a", "b"])
    assert len(vectors) == 2


def llama_index() -> None:
    llm = LlamaIndexOllama(model=MODEL, base_url=HOST, additional_kwargs={"num_predict": 16}, request_timeout=60)
    assert llm.chat([ChatMessage(content="Hi")]).raw["eval_count"] > 0
    assert [part.delta for part in llm.stream_complete("Hi")]


if __name__ == "__main__":
    for check in (models, chats, texts, errors, langchain, llama_index):
        check()
        print(f"ok {check.__name__}", flush=True)
