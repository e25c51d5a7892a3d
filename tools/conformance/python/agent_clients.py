"""Runs unmodified Python agent libraries against a running Hone: openai, LangChain, LiteLLM and OpenAI Agents.

`run.py` calls it. It reads BASE_URL, API_KEY and MODEL. The model's weights may be random, so it checks only properties that
a constraint enforces.
"""

import asyncio
import json
import os
from enum import Enum

import litellm
from agents import Agent, ModelSettings, OpenAIProvider, RunConfig, Runner, function_tool, set_tracing_disabled
from langchain_core.tools import tool as langchain_tool
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI, OpenAI, pydantic_function_tool
from pydantic import BaseModel, Field

BASE_URL, API_KEY, MODEL = (os.environ[name] for name in ("BASE_URL", "API_KEY", "MODEL"))
MAX_TOKENS = 24
MESSAGES = [{"role": "user", "content": "What will the weather be?"}]


class Color(str, Enum):
    RED = "red"
    GREEN = "green"


class Order(BaseModel):
    color: Color
    size: int = Field(ge=1, le=9)
    gift: bool


class Weather(BaseModel):
    """The weather of a city."""

    city: Color
    days: int = Field(ge=1, le=9)


def check_openai() -> None:
    client = OpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0)
    parsed = client.chat.completions.parse(model=MODEL, messages=MESSAGES, response_format=Order)
    assert isinstance(parsed.choices[0].message.parsed, Order)
    tool = pydantic_function_tool(Weather)
    called = client.chat.completions.parse(model=MODEL, messages=MESSAGES, tools=[tool], tool_choice="required")
    assert isinstance(called.choices[0].message.tool_calls[0].function.parsed_arguments, Weather)
    with client.chat.completions.stream(model=MODEL, messages=MESSAGES, max_tokens=MAX_TOKENS) as stream:
        events = {event.type for event in stream}
    assert "content.delta" in events, events
    lines = client.completions.create(model=MODEL, prompt="Once", max_tokens=MAX_TOKENS, stream=True)
    assert any(chunk.choices for chunk in lines)
    answer = client.responses.parse(model=MODEL, input="Order something.", text_format=Order)
    assert isinstance(answer.output_parsed, Order)
    with client.responses.stream(model=MODEL, input="Hello", max_output_tokens=MAX_TOKENS) as stream:
        assert "response.output_text.delta" in {event.type for event in stream}
    assert client.models.retrieve(MODEL).id == MODEL


def check_langchain() -> None:
    @langchain_tool
    def weather(city: Color, days: int) -> str:
        """The weather of a city."""
        return f"{city}: sun for {days} days"

    for use_responses_api in (False, True):
        options = {"model": MODEL, "base_url": BASE_URL, "api_key": API_KEY, "max_retries": 0}
        model = ChatOpenAI(**options, use_responses_api=use_responses_api)
        short = ChatOpenAI(**options, use_responses_api=use_responses_api, max_tokens=MAX_TOKENS)
        assert short.invoke("Hello").usage_metadata["output_tokens"] > 0
        assert list(short.stream("Hello"))
        answer = model.bind_tools([weather], tool_choice="required").invoke("What will the weather be?")
        assert answer.tool_calls and answer.tool_calls[0]["name"] == "weather", answer
        results = [weather.invoke(call) for call in answer.tool_calls]
        assert short.invoke([("human", "What will the weather be?"), answer, *results]).usage_metadata
    for method in ("json_schema", "function_calling"):
        assert isinstance(ChatOpenAI(**options).with_structured_output(Order, method=method).invoke("Order"), Order)


def check_litellm() -> None:
    options = {
        "model": f"hosted_vllm/{MODEL}",
        "api_base": BASE_URL,
        "api_key": API_KEY,
        "messages": MESSAGES,
        "num_retries": 0,
    }
    assert litellm.completion(**options, max_tokens=MAX_TOKENS).usage.completion_tokens > 0
    chunks = list(litellm.completion(**options, max_tokens=MAX_TOKENS, stream=True))
    assert litellm.stream_chunk_builder(chunks, messages=MESSAGES).choices[0].message
    answer = litellm.completion(**options, response_format=Order)
    Order.model_validate_json(answer.choices[0].message.content)
    tool = pydantic_function_tool(Weather)
    called = litellm.completion(**options, tools=[tool], tool_choice="required")
    Weather.model_validate_json(called.choices[0].message.tool_calls[0].function.arguments)


async def check_agents() -> None:
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=BASE_URL, api_key=API_KEY, max_retries=0)
    calls: list[str] = []

    @function_tool
    def weather(city: Color, days: int) -> str:
        """The weather of a city."""
        calls.append(json.dumps([city, days]))
        return "sun"

    for use_responses in (False, True):
        provider = OpenAIProvider(openai_client=client, use_responses=use_responses)
        config = RunConfig(model_provider=provider, model=MODEL)
        required = ModelSettings(tool_choice="required", parallel_tool_calls=False)
        agent = Agent(name="Forecaster", tools=[weather], output_type=Order, model_settings=required)
        result = await Runner.run(agent, "What will the weather be?", run_config=config, max_turns=8)
        assert isinstance(result.final_output, Order) and calls, result.final_output
        second = Agent(name="Second", output_type=Order)
        handing = ModelSettings(tool_choice="transfer_to_second")
        first = Agent(name="First", handoffs=[second], model_settings=handing)
        streamed = Runner.run_streamed(first, "I want something.", run_config=config, max_turns=4)
        async for _ in streamed.stream_events():
            pass
        assert streamed.last_agent.name == "Second" and isinstance(streamed.final_output, Order)


def main() -> None:
    checks = {
        "openai": check_openai,
        "langchain-openai": check_langchain,
        "litellm": check_litellm,
        "openai-agents": lambda: asyncio.run(check_agents()),
    }
    for name, check in checks.items():
        check()
        print(f"{name}: passed")


if __name__ == "__main__":
    main()
