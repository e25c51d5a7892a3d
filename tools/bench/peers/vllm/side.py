"""The other side of `tools/bench/peers/vllm.ts`: vLLM on the processor, compiled, in this process.

Reads one JSON line that says which model folder to load, in which precision and with how many threads; then answers each
line with one of its own: the time of a decode step, or of a prompt. What is timed is vLLM's model runner, from the
scheduler's plan to the scores, without scheduler and sampler.
"""

import json
import os
import sys
import time
from pathlib import Path

# vLLM asks for Intel's OpenMP to be loaded first, which comes with its package.
OPENMP = Path(sys.prefix) / "lib" / "libiomp5.so"
# More than any context that is asked for takes.
CACHE_BYTES = 1 << 30
# As many tokens as a step may have: a prompt is computed in one.
STEP_TOKENS = 2048


def load_first(library: Path) -> None:
    """Starts this program again, with a library before all others."""
    loaded = os.environ.get("LD_PRELOAD", "")
    if library.exists() and library.name not in loaded:
        os.environ["LD_PRELOAD"] = f"{library}:{loaded}".rstrip(":")
        os.execv(sys.executable, [sys.executable, *sys.argv])


class Side:
    def __init__(self, job: dict) -> None:
        os.environ |= {
            "OMP_NUM_THREADS": str(job["threads"]),
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "VLLM_CACHE_ROOT": job["cache"],
            "VLLM_LOGGING_LEVEL": "ERROR",
            # All of it in this process, whose model runner can then be timed.
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            # It asks nobody about the model, and tells nobody of it.
            "HF_HUB_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
        }
        from vllm import LLM, SamplingParams
        from vllm.inputs import TokensPrompt

        self.engine = LLM(
            model=job["folder"],
            dtype=job["type"],
            max_model_len=job["context"],
            max_num_seqs=job["rows"],
            max_num_batched_tokens=STEP_TOKENS,
            kv_cache_memory_bytes=CACHE_BYTES,
            enable_prefix_caching=False,
            use_tqdm_on_load=False,
        )
        self.prompt, self.sampling = TokensPrompt, SamplingParams
        self.steps: list[tuple[int, int, float]] = []
        self.time_steps()

    def time_steps(self) -> None:
        """From now on each step adds how many rows and tokens it had, and its milliseconds."""
        runner = self.engine.llm_engine.engine_core.engine_core.model_executor.driver_worker.worker.model_runner
        execute = runner.execute_model

        def timed(plan, *rest, **named):
            start = time.perf_counter()
            result = execute(plan, *rest, **named)
            taken = (time.perf_counter() - start) * 1000
            self.steps.append((len(plan.num_scheduled_tokens), plan.total_num_scheduled_tokens, taken))
            return result

        runner.execute_model = timed

    def best(self, tokens: list[int], rows: int, count: int, step_tokens: int) -> dict:
        """The fastest step of all rows with so many tokens in all, while each row's prompt is answered with `count`."""
        self.steps.clear()
        sampling = self.sampling(temperature=0, max_tokens=count, ignore_eos=True, detokenize=False)
        self.engine.generate([self.prompt(prompt_token_ids=tokens)] * rows, sampling, use_tqdm=False)
        return {"ms": min(ms for size, total, ms in self.steps if (size, total) == (rows, step_tokens))}

    def prefill(self, tokens: list[int], turns: int) -> dict:
        return min((self.best(tokens, 1, 1, len(tokens)) for _ in range(turns)), key=lambda answer: answer["ms"])

    def decode(self, tokens: list[int], rows: int, turns: int) -> dict:
        """Over contexts from one of these tokens on. Where prompts take several steps, rows begin one after the other."""
        return self.best(tokens, rows, turns + 4, rows)


def main() -> None:
    load_first(OPENMP)
    # Libraries print to where the answers are read.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    side = Side(json.loads(sys.stdin.readline()))
    print(json.dumps({"ready": True}), file=answers)
    for line in sys.stdin:
        command = json.loads(line)
        print(json.dumps(getattr(side, command.pop("kind"))(**command)), file=answers)


if __name__ == "__main__":
    main()
