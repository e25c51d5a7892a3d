"""Trains one model on all tasks with their own verifiers, over HTTP, and measures it on items that it was never trained on.

First a supervised job shows the model a few items with answers, so that it answers in the form that the verifiers read. Then it
answers new items several times each, and `score_answer` gives the reward of each answer. Prints a table or JSON.
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
    """Returns the 95 % confidence interval of a fraction (Wilson, Probable inference, 1927)."""
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
        """Draws `count` training items per task; none of them is a test item."""
        found = []
        for task in TASKS:
            tested = {item["question"] for item in self.tests[task.name][1]}
            dataset, items = task.draw(seed, count, tested)
            found += [(task, dataset, item) for item in items]
        self.random.shuffle(found)
        return found

    def measure(self) -> dict[str, int]:
        """Returns the number of right answers to the unseen items, by task."""
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
        """Returns the score without any skill: always giving the most common answer of a task's unseen items."""
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
        """Runs a round: samples answers, scores them, and trains on the items with differing rewards. Returns mean rewards by task."""
        seed = self.options["seed"]
        # An item's seed is the dataset's seed plus the item's position, so seeds must be far apart to draw different items.
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
                # A step has as many items as there are tasks, so that most steps contain each task.
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
    """Returns a Markdown table with the fraction of right answers and its interval, for each task and for all."""
    count = course.options["tests"]

    def row(name: str, right: list[int], of: int) -> str:
        cells = []
        for hits in right:
            low, high = interval(hits, of)
            cells.append(f"{hits / of:.2f} ({low:.2f} to {high:.2f})")
        return f"| {name} | " + " | ".join(cells) + " |"

    columns = {"commonest answer": course.commonest(), **stages}
    return [
        f"| fraction right of {count} unseen items | " + " | ".join(columns) + " |",
        "|---" * (len(columns) + 1) + "|",
        *(row(task.name, [right[task.name] for right in columns.values()], count) for task in TASKS),
        row("all", [sum(right.values()) for right in columns.values()], count * len(TASKS)),
    ]


def main() -> None:
    options = json.loads(sys.argv[1])
    say = (lambda *_, **__: None) if options["json"] else (lambda *words, **how: print(*words, flush=True, **how))
    course = Course(options)
    stages = {"base": course.measure()}
    say(f"measured the base model after {course.seconds()} s")
    if options["shown"] > 0:
        course.teach()
        stages["shown"] = course.measure()
        say(f"showed {options['shown']} items of each task after {course.seconds()} s: {stages['shown']}")
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
        raise SystemExit("training with rewards did not improve the model")


if __name__ == "__main__":
    main()
