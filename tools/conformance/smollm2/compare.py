"""Compares a running Hone with Transformers on the same GGUF file: tokens of texts, prompts, and greedy answers.

`run.py` calls it with the number of texts, the number of chats, and the seed. It reads BASE_URL and MODEL_FILE.
"""

import json
import os
import sys
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import torch
from material import chats, texts
from tokenizers import Tokenizer, pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer

BASE_URL, FILE = os.environ.get("BASE_URL", ""), Path(os.environ.get("MODEL_FILE", ""))
TOLERANCE = 1e-4
ANSWER_TOKENS = 24


class Server:
    def __init__(self) -> None:
        self.connection = HTTPConnection(urlsplit(BASE_URL).netloc, timeout=300)

    def ask(self, path: str, body: dict) -> dict:
        self.connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        content = response.read()
        assert response.status == 200, content
        return json.loads(content)


def published(loaded: Tokenizer) -> Tokenizer:
    """Returns the file's tokenizer, but splitting texts as the model's own tokenizer.json does: single digits, then as GPT-2."""
    tokenizer = Tokenizer.from_str(loaded.to_str())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    )
    return tokenizer


def compare_texts(server: Server, loaded: Tokenizer, count: int, seed: int) -> None:
    reference, apart, tokens, faults = published(loaded), 0, 0, []
    for text in texts(count, seed):
        ours = server.ask("/tokenize", {"model": "smollm2", "prompt": text, "add_special_tokens": False})["tokens"]
        theirs = reference.encode(text, add_special_tokens=False).ids
        apart += theirs != loaded.encode(text, add_special_tokens=False).ids
        tokens += len(theirs)
        if ours != theirs:
            faults.append((text, ours, theirs))
    for text, ours, theirs in faults[:10]:
        print(f"  {text!r}\n    Hone {ours}\n    reference {theirs}")
    print(f"texts: {count - len(faults)} of {count} have the same tokens ({tokens} in all); "
          f"Transformers' loader, which does not split digits, differs from the published rules for {apart}", flush=True)
    assert not faults


def compare_chats(server: Server, tokenizer, count: int, seed: int) -> None:
    compare_one = chat_comparison(server, tokenizer)
    found = [compare_one(messages) for messages in chats(count, seed)]
    differences = [difference for differences in found for difference in differences]
    print(f"chats: {count} of {count} have the same prompt and the same greedy answer ({len(differences)} tokens); "
          f"log-probabilities differ by at most {max(differences):.1e}", flush=True)
    assert max(differences) < TOLERANCE


def chat_comparison(server: Server, tokenizer):
    model = AutoModelForCausalLM.from_pretrained(FILE.parent, gguf_file=FILE.name, dtype=torch.float32).eval()
    ends = {tokenizer.convert_tokens_to_ids(token) for token in ("<|im_end|>", "<|endoftext|>")}

    def compare(messages: list[dict[str, str]]) -> list[float]:
        """Returns how much each token's log-probability differs from the reference's."""
        answer = server.ask("/v1/chat/completions", {
            "model": "smollm2", "messages": messages, "temperature": 0, "max_tokens": ANSWER_TOKENS,
            "logprobs": True, "return_token_ids": True,
        })
        [choice] = answer["choices"]
        prompt, ids = answer["prompt_token_ids"], choice["token_ids"]
        rendered = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        assert prompt == tokenizer(rendered, add_special_tokens=False).input_ids, messages
        with torch.no_grad():
            scores = model(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 :].log_softmax(-1)
        # If each token is the most likely one after the tokens before it, the answer equals the reference's greedy answer.
        greedy = scores.argmax(-1).tolist()
        assert ids == greedy[: len(ids)], (messages, ids, greedy)
        assert len(ids) == ANSWER_TOKENS or ids[-1] in ends or greedy[len(ids)] in ends, (messages, ids, greedy)
        told = [entry["logprob"] for entry in choice["logprobs"]["content"]]
        return [abs(scores[at, token].item() - logprob) for at, (token, logprob) in enumerate(zip(ids, told, strict=True))]

    return compare


def main() -> None:
    text_count, chat_count, seed = map(int, sys.argv[1:])
    server = Server()
    tokenizer = AutoTokenizer.from_pretrained(FILE.parent, gguf_file=FILE.name)
    compare_texts(server, tokenizer.backend_tokenizer, text_count, seed)
    compare_chats(server, tokenizer, chat_count, seed)


if __name__ == "__main__":
    main()
