"""Writes the reference's results for a few texts and chats, for tests without Python: `record.py model.gguf file.json`.

The tests are in `test/real-model.test.ts`; `run.py` compares many more. Run it with the Python of the virtual environment next to it.
"""

import json
import sys
from pathlib import Path

import torch
from compare import published
from material import chats, texts
from transformers import AutoModelForCausalLM, AutoTokenizer

ANSWER_TOKENS = 12


def answered(model, tokenizer, messages: list[dict[str, str]]) -> dict:
    rendered = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    prompt = tokenizer(rendered, add_special_tokens=False).input_ids
    ids, logprobs = [], []
    for _ in range(ANSWER_TOKENS):
        with torch.no_grad():
            scores = model(torch.tensor([prompt + ids])).logits[0, -1].log_softmax(-1)
        ids.append(int(scores.argmax()))
        logprobs.append(scores[ids[-1]].item())
        if ids[-1] == tokenizer.convert_tokens_to_ids("<|im_end|>"):
            break
    return {"messages": messages, "prompt_token_ids": prompt, "token_ids": ids, "logprobs": logprobs}


def main() -> None:
    file, target = Path(sys.argv[1]), sys.argv[2]
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32).eval()
    reference = published(tokenizer.backend_tokenizer)
    tokens = [{"text": text, "token_ids": reference.encode(text, add_special_tokens=False).ids} for text in texts(60, 3)]
    recorded = {"texts": tokens, "chats": [answered(model, tokenizer, messages) for messages in chats(5, 3)]}
    Path(target).write_text(json.dumps(recorded))


if __name__ == "__main__":
    main()
