"""The tasks: reasoning-gym's own generators, with sizes at which a model of 135 million parameters can find answers."""

from dataclasses import dataclass, field
from typing import Any

import reasoning_gym


@dataclass(frozen=True)
class Task:
    name: str
    config: dict[str, Any] = field(default_factory=dict)
    """Maximum length of an answer in tokens."""
    answer_tokens: int = 6

    def draw(self, seed: int, count: int, unlike: set[str]) -> tuple[Any, list[dict[str, Any]]]:
        """Returns the dataset, which scores answers, and `count` different items whose questions are not in `unlike`."""
        dataset = reasoning_gym.create_dataset(self.name, size=100 * count, seed=seed, **self.config)
        items: dict[str, dict[str, Any]] = {}
        for item in dataset:
            if item["question"] not in unlike:
                items.setdefault(item["question"], item)
            if len(items) == count:
                return dataset, list(items.values())
        raise SystemExit(f"{self.name} has only {len(items)} of {count} items left; ask for fewer")


TASKS = [
    Task("chain_sum", {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1}),
    Task("simple_equations", {
        "min_terms": 2, "max_terms": 2, "min_value": 1, "max_value": 9, "operators": ("+",), "operators_weights": [1.0],
    }),
    Task("family_relationships", {"min_family_size": 3, "max_family_size": 3}),
    Task("needle_haystack", {"min_num_statements": 2, "max_num_statements": 3}, answer_tokens=10),
    Task("word_sequence_reversal", {"min_words": 2, "max_words": 2}, answer_tokens=12),
]
