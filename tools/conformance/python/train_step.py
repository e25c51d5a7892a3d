"""The PyTorch side of `tools/bench/train-step.ts`: LoRA steps of PyTorch 2 with transformers and PEFT, in float32 on the CPU.

The first input line is JSON with the training job. The process answers each line "step" with the duration of one step, and
"end" with its peak memory. Weights and tokens are random. A step consists of the forward pass with the cross-entropy of all
tokens but the first of each row, the gradient with respect to the adapter (without gradient checkpointing), and an AdamW
step.
"""

import json
import resource
import sys
import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM


def main() -> None:
    job = json.loads(sys.stdin.readline())
    torch.set_num_threads(job["threads"])
    torch.manual_seed(0)
    model, optimizer = load(job)
    shape = (job["rows"], job["length"])
    token_ids = torch.randint(0, model.config.vocab_size, shape)
    for line in sys.stdin:
        if line.strip() == "step":
            start = time.perf_counter()
            take_step(model, optimizer, token_ids)
            answer({"ms": (time.perf_counter() - start) * 1000})
        else:
            # Linux reports KiB.
            answer({"memoryBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024})
            return


def load(job: dict) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    fields = dict(job["config"])
    config = AutoConfig.for_model(fields.pop("model_type"), **fields)
    base = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    lora = LoraConfig(r=job["rank"], lora_alpha=16, target_modules=job["targets"], task_type="CAUSAL_LM")
    model = get_peft_model(base, lora)
    model.train()
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return model, torch.optim.AdamW(learned, lr=1e-5, weight_decay=0.1)


def take_step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, token_ids: torch.Tensor) -> None:
    optimizer.zero_grad(set_to_none=True)
    model(input_ids=token_ids, labels=token_ids, use_cache=False).loss.backward()
    optimizer.step()


def answer(message: dict) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main()
