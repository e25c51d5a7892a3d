"""A verifiers environment of several turns with a tool: the model must add two numbers with the tool, and give the sum."""

import json
import random

import verifiers.v1 as vf


class Calculator(vf.Toolset[vf.SharedToolsetConfig]):
    TOOL_PREFIX = None

    @vf.tool
    def add(self, a: int, b: int) -> int:
        return a + b


class SumData(vf.TaskData):
    numbers: list[int]


class SumTask(vf.Task[SumData]):
    @vf.reward(weight=0.5)
    async def added(self, trace: vf.Trace) -> float:
        return float(self.data.numbers in [numbers_of(call.arguments) for message in trace.assistant_messages for call in message.tool_calls or []])

    @vf.reward(weight=0.5)
    async def answered(self, trace: vf.Trace) -> float:
        return float(trace.last_reply == str(sum(self.data.numbers)))


def numbers_of(arguments: str) -> list[int] | None:
    """Returns the numbers of a call; None if the model wrote no JSON object."""
    try:
        return list(json.loads(arguments).values())
    except (ValueError, AttributeError):
        return None


class SumConfig(vf.TasksetConfig):
    tools: vf.SharedToolsetConfig = vf.SharedToolsetConfig()


class SumTaskset(vf.Taskset[SumTask, SumConfig]):
    def load(self) -> list[SumTask]:
        draw = random.Random(1)
        pairs = [[draw.randrange(1000, 10_000), draw.randrange(1000, 10_000)] for _ in range(4)]
        return [SumTask(SumData(prompt=f"How much is {a} + {b}?", numbers=[a, b]), self.config.task) for a, b in pairs]

    @classmethod
    def toolsets(cls, config: SumConfig) -> list[vf.Toolset]:
        return [Calculator(config.tools)]


__all__ = ["SumTaskset"]

if __name__ == "__main__":
    Calculator.run()
