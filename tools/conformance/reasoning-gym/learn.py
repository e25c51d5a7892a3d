"""Trains one model on all of the tasks by their own verifiers, over HTTP, and measures it on items that it never trained on.

First a supervised job shows it a few items with their answers, so that it answers in the form that the verifiers read; then it
answers new items several times each, and every answer earns what `score_answer` gives. Prints a table, or JSON.
"""

import json
import math
import random
import sys
import time
from collections import Counter
from typing import Any

from hone import at_once, choices, request, train
from tasks import TASKS

BASE = "smollm2"
SYSTEM = "Give only the answer."


def messages(item: dict[str, Any]) -> list[dict[str, str]]:
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": item["question"].strip()}]


def interval(right: int, count: int) -> tuple[float, float]:
    """Of the true part, with a confidence of 95 %: Wilson's (Probable inference, 1927)."""
    z = 1.96
    centre = right / count + z * z / (2 * count)
    width = z * math.sqrt(right * (count - right) / count + z * z / 4) / count
    scale = 1 + z * z / count
    return (centre - width) / scale, (centre + width) / scale


class Course:
    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.began = time.monotonic()
        self.random = random.Random(options["seed"])
        seed, count = options["seed"], options["tests"]
        self.tests = {task.name: task.draw(10_000 + seed, count, set()) for task in TASKS}
        self.model = request("POST", "/v1/preview/models", {
            "project": "reasoning-gym", "name": f"seed-{seed}-{time.time_ns()}", "base_model": BASE,
        })
        self.step = 0

    def version(self) -> str:
        return "{entity}/{project}/{name}".format(**self.model) + f":step{self.step}"

    def drawn(self, seed: int, count: int) -> list[tuple[Any, Any, dict[str, Any]]]:
        """Items to train on: so many of each task, none of them a test's."""
        found = []
        for task in TASKS:
            tested = {item["question"] for item in self.tests[task.name][1]}
            dataset, items = task.draw(seed, count, tested)
            found += [(task, dataset, item) for item in items]
        self.random.shuffle(found)
        return found

    def measure(self) -> dict[str, int]:
        """How many of the unseen items are answered right, by task."""
        def answered(asked: tuple[Any, Any, dict[str, Any]]) -> bool:
            task, dataset, item = asked
            [choice] = choices(self.version(), messages(item), temperature=0, max_tokens=task.answer_tokens)
            return dataset.score_answer((choice["message"]["content"] or "").strip(), item) == 1

        right = {}
        for task in TASKS:
            dataset, items = self.tests[task.name]
            right[task.name] = sum(at_once(answered, [(task, dataset, item) for item in items]))
        return right

    def commonest(self) -> dict[str, int]:
        """How many are right who always give the answer that most of a task's unseen items have: no skill at all."""
        return {name: max(Counter(item["answer"] for item in items).values()) for name, (_, items) in self.tests.items()}

    def teach(self) -> None:
        shown = self.drawn(20_000 + self.options["seed"], self.options["shown"])
        conversations = [
            {"messages": [*messages(item), {"role": "assistant", "content": item["answer"]}]} for _, _, item in shown
        ]
        train("/v1/preview/sft-training-jobs", {
            "model_id": self.model["id"], "training_data": conversations,
            "config": {"learning_rate": self.options["supervised_rate"], "batch_size": 4},
        })
        self.step += 1

    def reinforce(self, round_number: int) -> dict[str, float]:
        """A round: tries, what they earn, and a job of those items whose tries differ. The mean of what was earned, by task."""
        seed = self.options["seed"]
        # An item has the seed of its dataset and its place added up, so neighbouring seeds would draw the same ones.
        asked = self.drawn(1_000_000 * seed + 30_000 + 1000 * round_number, self.options["items"])

        def tried(numbered: tuple[int, tuple[Any, Any, dict[str, Any]]]) -> dict[str, Any]:
            number, (task, dataset, item) = numbered
            found = choices(
                self.version(), messages(item), n=self.options["tries"], temperature=1, max_tokens=task.answer_tokens,
                seed=1000 * round_number + number + 1_000_000 * seed, logprobs=True, return_token_ids=True,
            )
            return {"trajectories": [{
                "messages_and_choices": [*messages(item), choice],
                "reward": float(dataset.score_answer((choice["message"]["content"] or "").strip(), item)),
            } for choice in found]}

        groups = at_once(tried, list(enumerate(asked)))
        rewards = [[trajectory["reward"] for trajectory in group["trajectories"]] for group in groups]
        varied = [group for group, earned in zip(groups, rewards, strict=True) if len(set(earned)) > 1]
        if varied:
            train("/v1/preview/training-jobs", {
                "model_id": self.model["id"], "trajectory_groups": varied,
                # A step of as many items as there are tasks, so that most have something of each.
                "experimental_config": {"learning_rate": self.options["rate"], "batch_size": len(TASKS) * self.options["tries"]},
            })
            self.step += 1
        by_task = {
            task.name: [reward for (of, _, _), earned in zip(asked, rewards, strict=True) if of is task for reward in earned]
            for task in TASKS
        }
        return {name: sum(earned) / len(earned) for name, earned in by_task.items()}

    def seconds(self) -> float:
        return round(time.monotonic() - self.began, 1)


def table(course: Course, stages: dict[str, dict[str, int]]) -> list[str]:
    """In Markdown: the part that is right of each task and of all, and between what it may truly be."""
    count = course.options["tests"]

    def row(name: str, right: list[int], of: int) -> str:
        cells = []
        for hits in right:
            low, high = interval(hits, of)
            cells.append(f"{hits / of:.2f} ({low:.2f} to {high:.2f})")
        return f"| {name} | " + " | ".join(cells) + " |"

    columns = {"commonest answer": course.commonest(), **stages}
    return [
        f"| right of {count} unseen items | " + " | ".join(columns) + " |",
        "|---" * (len(columns) + 1) + "|",
        *(row(task.name, [right[task.name] for right in columns.values()], count) for task in TASKS),
        row("all", [sum(right.values()) for right in columns.values()], count * len(TASKS)),
    ]


def main() -> None:
    options = json.loads(sys.argv[1])
    say = (lambda *_, **__: None) if options["json"] else (lambda *words, **how: print(*words, flush=True, **how))
    course = Course(options)
    stages = {"base": course.measure()}
    say(f"base model measured after {course.seconds()} s")
    if options["shown"] > 0:
        course.teach()
        stages["shown"] = course.measure()
        say(f"shown {options['shown']} items of each task, {course.seconds()} s: {stages['shown']}")
    before = sum(list(stages.values())[-1].values())
    rewards = []
    for round_number in range(options["rounds"]):
        rewards.append(course.reinforce(round_number))
        earned = "  ".join(f"{name} {reward:.2f}" for name, reward in rewards[-1].items())
        say(f"round {round_number + 1:2}  {earned}  {course.seconds()} s")
    stages[f"{options['rounds']} rounds"] = course.measure()
    if options["json"]:
        right = {"commonest answer": course.commonest(), **stages}
        print(json.dumps({"options": options, "right": right, "rewards": rewards, "seconds": course.seconds()}, indent=2))
    say("", *table(course, stages), f"{course.seconds()} s, seed {options['seed']}", sep="\n")
    if sum(list(stages.values())[-1].values()) <= before:
        raise SystemExit("reward has taught the model nothing")


if __name__ == "__main__":
    main()
