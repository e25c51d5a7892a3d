// Compares tokenizers that are read from GGUF metadata with the libraries of the models' authors: sentencepiece, and
// `tokenizers` with each model's own splits (test/fixtures/gguf/make-tokenizers.py).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { GgufValue } from "../src/lib/model-files/gguf/type-numbers.ts";
import { ggufTokenizer } from "../src/lib/model-files/gguf/gguf-tokenizer.ts";
import { GgufMetadata } from "../src/lib/model-files/gguf/metadata.ts";
import { createTokenizer, type Tokenizer } from "../src/lib/tokenizer/tokenizer.ts";

interface Vocabulary {
  readonly tokens: readonly string[];
  readonly token_type: readonly number[];
  readonly merges?: readonly string[];
  readonly scores?: readonly number[];
  /** Ids of each text. The key is the pre-tokenizer, or says whether a space is inserted before the text. */
  readonly ids: Readonly<Record<string, readonly (readonly number[])[]>>;
}

interface Fixture {
  readonly texts: readonly string[];
  readonly gpt2: Vocabulary;
  readonly llama: Vocabulary;
}

const fixture = JSON.parse(readFileSync("test/fixtures/gguf/tokenizers.json", "utf8")) as Fixture;

function tokenizerOf(model: "gpt2" | "llama", more: Readonly<Record<string, GgufValue>>): Tokenizer {
  const { ids: _, ...lists } = fixture[model];
  const values = { model, ...lists, ...more };
  const metadata = Object.entries(values).map(
    ([key, value]) => [key.includes(".") ? key : `tokenizer.ggml.${key}`, value] as const,
  );
  return createTokenizer(ggufTokenizer(new GgufMetadata("model.gguf", new Map(metadata))));
}

function check(tokenizer: Tokenizer, expected: readonly (readonly number[])[]): void {
  const encoded = fixture.texts.map((text) => tokenizer.encode(text, { addSpecialTokens: false }));
  const differing = fixture.texts.flatMap((text, index) => {
    const [ids, wanted] = [encoded[index], expected[index]];
    return ids.join() === wanted.join() ? [] : [{ text, ids, wanted }];
  });
  assert.deepEqual(differing, [], `${differing.length} of ${fixture.texts.length} texts`);
}

for (const [pre, expected] of Object.entries(fixture.gpt2.ids)) {
  test(`byte-level tokens with the pre-tokenizer ${pre} equal those of the tokenizers library`, () => {
    check(tokenizerOf("gpt2", { pre }), expected);
  });
}

for (const [prefix, expected] of Object.entries(fixture.llama.ids)) {
  test(`SentencePiece tokens with add_space_prefix ${prefix} equal those of the sentencepiece library`, () => {
    check(tokenizerOf("llama", { add_space_prefix: prefix === "true", unknown_token_id: 0 }), expected);
  });
}

test("Phi-3's tokens that mark turns absorb the spaces after them, as in the tokenizers library", () => {
  const phi3 = { "general.architecture": "phi3", add_space_prefix: true, unknown_token_id: 0 };
  const tokenizer = tokenizerOf("llama", phi3);
  const encoded = ["<|turn|>\nhello<|turn|>", "x <|turn|>  \t\n", "<|turn|> <|turn|>b", " <s> a<unk>  b"].map(
    (text) => tokenizer.encode(text, { addSpecialTokens: false }),
  );
  assert.deepEqual(encoded, [
    [3, 544, 275, 765, 3],
    [345, 762, 3],
    [3, 3, 306],
    [8, 1, 8, 767, 0, 9, 804],
  ]);
});

test("refuses a file with an unknown pre-tokenizer, naming it and the known ones, and a file without one, naming the key", () => {
  assert.throws(() => tokenizerOf("gpt2", { pre: "deepseek-llm" }), {
    code: "unsupported",
    message: /pre-tokenizer is deepseek-llm; gpt-2, .*refact.*dbrx.*gpt-4o.* are known/,
  });
  assert.throws(() => tokenizerOf("gpt2", {}), {
    code: "unsupported",
    message: /it has no tokenizer\.ggml\.pre/,
  });
});

interface Gemma4Fixture {
  readonly texts: readonly string[];
  readonly ids: readonly (readonly number[])[];
  readonly decoded: readonly string[];
  readonly tokens: readonly string[];
  readonly token_type: readonly number[];
  readonly merges: readonly string[];
  /** tokenizer.json as Transformers saves it. */
  readonly tokenizer: Readonly<Record<string, unknown>>;
}

const gemma4 = JSON.parse(readFileSync("test/fixtures/gguf/gemma4-tokenizer.json", "utf8")) as Gemma4Fixture;

test("Gemma 4's tokens equal those of Transformers, from its tokenizer.json and from a GGUF file", () => {
  const { texts, ids, decoded, tokens, token_type, merges } = gemma4;
  const lists = { model: "gemma4", tokens, token_type, merges, unknown_token_id: 3, bos_token_id: 2 };
  const values = Object.entries(lists).map(([key, value]) => [`tokenizer.ggml.${key}`, value] as const);
  const fromFile = createTokenizer(ggufTokenizer(new GgufMetadata("model.gguf", new Map(values))));
  for (const tokenizer of [createTokenizer({ tokenizer: gemma4.tokenizer, config: {} }), fromFile]) {
    const encoded = texts.map((text) => tokenizer.encode(text, { addSpecialTokens: false }));
    const differing = texts.filter((_, index) => encoded[index].join() !== ids[index].join());
    assert.deepEqual(differing, []);
    const written = ids.map((each) => tokenizer.decode(each, { skipSpecialTokens: false }));
    assert.deepEqual(written, decoded);
  }
  assert.deepEqual(fromFile.encode("a", { addSpecialTokens: true }).slice(0, 1), [2]);
});
