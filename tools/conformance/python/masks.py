"""Compares Hone's masks with LLGuidance's: `python3 masks.py <suite.jsonl> [--tokens 128000] [--json]`.

The suite has a JSON object per line: {name, schema, tests: [{valid, data}]}. Both engines get the same vocabulary, schemas and
token paths, use one thread, and are measured in processor time. A path counts as accepted if each token was allowed by the
mask before it and the text may end after the last one. LLGuidance gets the properties in Hone's order and in their original
order; the first order that it accepts counts. Hone is measured after a warm-up of 150 schemas, in which its code is compiled.
"""

import argparse
import base64
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import ROOT, interpreter

NAMES = ("mean", "p50", "p90", "p99", "p99.9", "max")


class Vocabulary:
    """The tokenizer that LLGuidance requires; the first token without bytes ends a text.

    If a text is forced, LLGuidance asks for its tokens: always the longest token that fits, as in the token paths. The time
    that this takes here in Python is excluded from the measurement.
    """

    def __init__(self, file: Path) -> None:
        lines = file.read_text().split("\n")
        self.special_token_ids = [index for index, line in enumerate(lines) if line == ""]
        self.tokens = [base64.b64decode(line) if line else b"<|%d|>" % index for index, line in enumerate(lines)]
        self.eos_token_id = self.special_token_ids[0]
        self.bos_token_id = None
        self.own_ns = 0
        self._ids = {token: index for index, token in enumerate(self.tokens)}
        self._longest = max(map(len, self.tokens))

    def __call__(self, text: bytes) -> list[int]:
        started = time.process_time_ns()
        ids, at = [], 0
        while at < len(text):
            end = next(end for end in range(min(len(text), at + self._longest), at, -1) if text[at:end] in self._ids)
            ids.append(self._ids[text[at:end]])
            at = end
        self.own_ns += time.process_time_ns() - started
        return ids

    def elapsed_ns(self) -> int:
        """Returns the processor time without the time spent in this tokenizer."""
        return time.process_time_ns() - self.own_ns


class Subject:
    """One schema in LLGuidance, which either refuses it or follows the token paths of its instances."""

    def __init__(self, tokenizer, vocabulary: Vocabulary, line: dict) -> None:
        import numpy

        self.mask = numpy.zeros((len(vocabulary.tokens) + 31) // 32, dtype=numpy.uint32)
        self.vocabulary = vocabulary
        started = vocabulary.elapsed_ns()
        self.matcher = self._matcher(tokenizer, line["schema"])
        if self.matcher is not None:
            self._compute()
        self.first_mask_ms = (vocabulary.elapsed_ns() - started) / 1e6
        self.is_served = self.matcher is not None and not self.matcher.is_error()

    @staticmethod
    def _matcher(tokenizer, schema: str):
        from llguidance import LLMatcher

        try:
            return LLMatcher(tokenizer, LLMatcher.grammar_from_json_schema(schema), log_level=0)
        except ValueError:
            return None

    def _compute(self) -> None:
        self.matcher.unsafe_compute_mask_ptr(self.mask.ctypes.data, self.mask.nbytes)

    def follow(self, path: list[int]) -> tuple[bool, list[float]]:
        self.matcher.reset()
        self._compute()
        times = []
        for token in path:
            if not (int(self.mask[token >> 5]) >> (token & 31)) & 1:
                return False, times
            started = self.vocabulary.elapsed_ns()
            self.matcher.consume_token(token)
            if not self.matcher.is_stopped():
                self._compute()
            times.append((self.vocabulary.elapsed_ns() - started) / 1e6)
            if self.matcher.is_error():
                return False, times
        return self.matcher.is_accepting(), times


def quantiles(times: list[float]) -> dict[str, float]:
    ordered = sorted(times) or [0.0]
    at = lambda share: ordered[min(len(ordered) - 1, int(len(ordered) * share))]
    return {"mean": sum(ordered) / len(ordered), "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "p99.9": at(0.999), "max": ordered[-1]}


def compare(folder: Path) -> dict:
    from llguidance import LLTokenizer, TokenizerWrapper

    vocabulary = Vocabulary(folder / "vocabulary.txt")
    tokenizer = LLTokenizer(TokenizerWrapper(vocabulary))
    counts = {name: {"served": 0, "invalid accepted": 0, "valid rejected": 0} for name in ("hone", "llguidance")}
    first = {"hone": [], "llguidance": []}
    between = {"hone": [], "llguidance": []}
    schemas = 0
    with (folder / "paths.jsonl").open() as lines:
        for line in map(json.loads, lines):
            schemas += 1
            other = Subject(tokenizer, vocabulary, line)
            is_both = line["firstMaskMs"] is not None and other.is_served
            for name, served in (("hone", line["firstMaskMs"] is not None), ("llguidance", other.is_served)):
                counts[name]["served"] += served
            if is_both:
                first["hone"].append(line["firstMaskMs"])
                first["llguidance"].append(other.first_mask_ms)
            for instance in line["instances"]:
                if line["firstMaskMs"] is not None:
                    count(counts["hone"], instance["valid"], instance["accepted"])
                if not other.is_served:
                    continue
                results = []
                for path in instance["paths"]:
                    results.append(other.follow(path))
                    if results[-1][0]:
                        break
                count(counts["llguidance"], instance["valid"], results[-1][0])
                # Compare times only for the same path, accepted by both engines.
                if is_both and instance["accepted"] and results[0][0]:
                    between["hone"] += instance["betweenMasksMs"]
                    between["llguidance"] += results[0][1]
    return {
        "schemas": schemas,
        "tokens": len(vocabulary.tokens),
        "counts": counts,
        "both": {"schemas": len(first["hone"]), "masks": len(between["hone"])},
        "firstMaskMs": {name: quantiles(times) for name, times in first.items()},
        "betweenMasksMs": {name: quantiles(times) for name, times in between.items()},
    }


def count(counts: dict[str, int], valid: bool, accepted: bool) -> None:
    if valid != accepted:
        counts["invalid accepted" if accepted else "valid rejected"] += 1


def table(report: dict) -> str:
    lines = [f"{report['schemas']} schemas, {report['tokens']} tokens; numbers of instances, and processor time in milliseconds"]
    for name, counts in report["counts"].items():
        lines.append(f"  {name:12}" + ", ".join(f"{kind} {number}" for kind, number in counts.items()))
    lines.append(f"on the {report['both']['schemas']} schemas that both support ({report['both']['masks']} masks between tokens)")
    lines.append(" " * 30 + "".join(f"{name:>10}" for name in NAMES))
    for title, key in (("first mask", "firstMaskMs"), ("between masks", "betweenMasksMs")):
        hone, other = report[key]["hone"], report[key]["llguidance"]
        for name, times in (("Hone", hone), ("LLGuidance", other)):
            lines.append(f"  {title + ', ' + name:28}" + "".join(f"{times[at]:10.4f}" for at in NAMES))
        lines.append(f"  {'Hone to LLGuidance':28}" + "".join(f"{hone[at] / max(other[at], 1e-9):10.2f}" for at in NAMES))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compares Hone's masks with LLGuidance's.")
    parser.add_argument("suite", type=Path)
    parser.add_argument("--tokens", type=int, default=128_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    python = interpreter("masks")
    if Path(sys.prefix) != python.parent.parent:
        raise SystemExit(subprocess.run([python, *sys.argv], check=False).returncode)
    with tempfile.TemporaryDirectory(prefix="hone-masks-") as folder:
        flags = ["--schemas", arguments.suite.resolve(), "--out", folder, "--tokens", str(arguments.tokens)]
        subprocess.run(["npm", "run", "--silent", "build"], cwd=ROOT, check=True)
        subprocess.run(["node", ROOT / "dist" / "tools" / "bench" / "mask-paths.js", *flags], cwd=ROOT, check=True)
        report = compare(Path(folder))
    print(json.dumps(report, indent=2) if arguments.json else table(report))


if __name__ == "__main__":
    main()
