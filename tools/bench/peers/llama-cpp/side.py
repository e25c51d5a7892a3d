"""The other side of `tools/bench/peers/llama-cpp.ts`: llama.cpp on the CPU, through the package llama-cpp-python.

Reads one JSON line that says which GGUF file to quantize to which type, into which file, and with how many threads; loads
that file; then answers each line with one of its own: the time of a decode step, the time of a prompt, or what a text
costs it. Tokens are given; of two sides that quantize the same file both read the file that this one made.
"""

import ctypes
import json
import math
import sys
import time

import llama_cpp
import numpy

# What llama.cpp calls its kinds of files (llama_ftype).
FILE_TYPES = {"F32": 0, "Q4_0": 2, "Q8_0": 7}
# The most tokens that a call computes; its own default.
CALL_TOKENS = 512

QUIET = llama_cpp.llama_log_callback(lambda *_: None)


def quantize(source: str, target: str, kind: str, threads: int) -> None:
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype = FILE_TYPES[kind]
    parameters.allow_requantize = True
    parameters.nthread = threads
    if llama_cpp.llama_model_quantize(source.encode(), target.encode(), ctypes.byref(parameters)) != 0:
        raise SystemExit(f"{source} can't be made {kind}")


class Side:
    def __init__(self, job: dict) -> None:
        model_parameters = llama_cpp.llama_model_default_params()
        model_parameters.n_gpu_layers = 0
        self.model = llama_cpp.llama_model_load_from_file(job["file"].encode(), model_parameters)
        parameters = llama_cpp.llama_context_default_params()
        parameters.n_ctx = job["rows"] * job["context"]
        parameters.n_batch = parameters.n_ubatch = CALL_TOKENS
        parameters.n_seq_max = job["rows"]
        parameters.n_threads = parameters.n_threads_batch = job["threads"]
        self.context = llama_cpp.llama_init_from_model(self.model, parameters)
        self.memory = llama_cpp.llama_get_memory(self.context)
        self.vocabulary_size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))
        self.batch = llama_cpp.llama_batch_init(CALL_TOKENS, 0, 1)

    def compute(self, entries: list[tuple[int, int, int, bool]]) -> float:
        """The milliseconds of a call for tokens, each with its position, its sequence and whether scores are wanted."""
        self.batch.n_tokens = len(entries)
        for index, (token, position, sequence, is_wanted) in enumerate(entries):
            self.batch.token[index] = token
            self.batch.pos[index] = position
            self.batch.n_seq_id[index] = 1
            self.batch.seq_id[index][0] = sequence
            self.batch.logits[index] = is_wanted
        start = time.perf_counter()
        if llama_cpp.llama_decode(self.context, self.batch) != 0:
            raise SystemExit("llama.cpp could not compute a step")
        llama_cpp.llama_synchronize(self.context)
        return (time.perf_counter() - start) * 1000

    def prompt(self, tokens: list[int], sequence: int = 0) -> float:
        last = len(tokens) - 1
        return self.compute([(token, at, sequence, at == last) for at, token in enumerate(tokens)])

    def prefill(self, tokens: list[int], turns: int) -> dict:
        times = []
        for _ in range(turns):
            llama_cpp.llama_memory_clear(self.memory, False)
            times.append(self.prompt(tokens))
        return {"ms": min(times)}

    def decode(self, tokens: list[int], rows: int, turns: int) -> dict:
        llama_cpp.llama_memory_clear(self.memory, False)
        for row in range(rows):
            self.prompt(tokens, row)
        times = []
        # The context grows by a token a turn: the state of a recurrent layer can't be moved back.
        for turn in range(turns):
            times.append(self.compute([(row + 1, len(tokens) + turn, row, True) for row in range(rows)]))
        return {"ms": min(times)}

    def perplexity(self, tokens: list[int], window: int) -> dict:
        """Over windows of the text, each begun anew, all tokens of each but the first."""
        costs = []
        for start in range(0, len(tokens) - 1, window):
            part = tokens[start : start + window]
            llama_cpp.llama_memory_clear(self.memory, False)
            self.compute([(token, at, 0, True) for at, token in enumerate(part)])
            for at in range(len(part) - 1):
                scores = numpy.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(self.context, at), (self.vocabulary_size,))
                scores = scores.astype(numpy.float64)
                top = scores.max()
                costs.append(top + math.log(numpy.exp(scores - top).sum()) - scores[part[at + 1]])
        return {"perplexity": math.exp(sum(costs) / len(costs))}


def main() -> None:
    llama_cpp.llama_log_set(QUIET, None)
    llama_cpp.llama_backend_init()
    job = json.loads(sys.stdin.readline())
    quantize(job["source"], job["file"], job["type"], job["threads"])
    side = Side(job)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        answer = getattr(side, command.pop("kind"))(**command)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
