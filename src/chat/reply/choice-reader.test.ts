import assert from "node:assert/strict";
import { test } from "node:test";
import { loadTokenizer } from "../../tokenizer/load-tokenizer.ts";
import { createChoiceReader } from "./choice-reader.ts";

const tokenizer = await loadTokenizer("test/fixtures/goldens/models/qwen3");
const [plain, other] = ["a", "b"].map((text) => tokenizer.encode(text, { addSpecialTokens: false })[0]);
const special = 2;

test("a token that is not shown is named in its log-probabilities, with no bytes", () => {
  assert.deepEqual([tokenizer.isSpecial(special), tokenizer.isSpecial(plain)], [true, false]);
  const alternatives = [plain, other, special].map((id) => ({ id, logprob: -1 }));
  const stopTokenIds = new Set([plain]);
  const reader = createChoiceReader(tokenizer, { stop: [], stopTokenIds, hasLogprobs: true });
  const tokens = [special, other, plain].map((id) => ({ id, logprob: -1, alternatives }));
  const { text, tokenIds, logprobs } = reader.take(tokens);
  const names = [special, other, plain].map((id) => tokenizer.tokenText(id));
  assert.deepEqual([text, tokenIds], ["b", [special, other, plain]]);
  assert.deepEqual(
    logprobs.map((logprob) => logprob.text),
    names,
  );
  assert.deepEqual(
    logprobs.map(({ bytes }) => bytes),
    [[], [98], []],
  );
  for (const { alternatives: named } of logprobs)
    assert.deepEqual(
      named.map(({ text: name }) => name),
      ["a", "b", names[0]],
    );
});
