"""The built-in model with a LoRA adapter in PyTorch, trained by autograd and torch.optim.AdamW: the reference for Hone."""

import io
import json
import tarfile
import urllib.request
from pathlib import Path

import torch
from safetensors.torch import load
from transformers import LlamaForCausalLM


class Reference:
    """Trains the same adapter as Hone, from the same first values."""

    def __init__(self, folder: str, adapter: bytes):
        self.model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
        self.model.requires_grad_(False)
        files = {Path(name).name: content for name, content in unpack(adapter).items()}
        config = json.loads(files["adapter_config.json"])
        self.scale = config["lora_alpha"] / config["r"]
        self.matrices: dict[str, torch.nn.Parameter] = {}
        for name, values in load(files["adapter_model.safetensors"]).items():
            self.matrices[name] = torch.nn.Parameter(values.float())
        for name, module in self.model.named_modules():
            first = self.matrices.get(f"base_model.model.{name}.lora_A.weight")
            second = self.matrices.get(f"base_model.model.{name}.lora_B.weight")
            if first is not None and second is not None:
                module.register_forward_hook(self.adapted(first, second))

    def adapted(self, first: torch.Tensor, second: torch.Tensor):
        return lambda _module, inputs, output: output + self.scale * (inputs[0] @ first.T @ second.T)

    def logprobs(self, tokens: list[int], targets: list[int]) -> torch.Tensor:
        logits = self.model(torch.tensor([tokens])).logits[0]
        return torch.log_softmax(logits, -1)[torch.arange(len(tokens)), torch.tensor(targets)]

    def optimizer(self, learning_rate: float) -> torch.optim.Optimizer:
        return torch.optim.AdamW(
            self.matrices.values(), lr=learning_rate, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.01
        )


def unpack(archive: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {each.name: tar.extractfile(each).read() for each in tar if each.isfile()}


def fetch(url: str, key: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, headers={"authorization": f"Bearer {key}"})) as answer:
        return answer.read()
