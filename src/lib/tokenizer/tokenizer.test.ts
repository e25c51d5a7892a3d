// Tests the tokenizer against ids from the reference implementation, and its own invariants.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import * as fc from "fast-check";
import { plainConversation, type Conversation } from "../../base/domain/chat.ts";
import { loadChatTemplate } from "../../inference/chat-templates/load-chat-template.ts";
import { loadTokenizer, createTokenizer } from "./tokenizer.ts";
import { renderPrompt } from "../../inference/chat-templates/render-prompt.ts";
import { searching } from "../../base/domain/testing/search.ts";

const root = "test/fixtures/goldens/models";
const folder = `${root}/qwen3`;

interface Golden {
  readonly messages: Conversation["messages"];
  readonly rendered: string;
  readonly rendered_ids: readonly number[];
}

for (const name of readdirSync(root)) {
  test(`renders and tokenizes like the reference implementation: ${name}`, async () => {
    const golden = JSON.parse(readFileSync(`${root}/${name}/golden.json`, "utf8")) as Golden;
    const tokenizer = await loadTokenizer(`${root}/${name}`);
    const template = await loadChatTemplate(`${root}/${name}`);
    const conversation = { messages: golden.messages, ...plainConversation };
    assert.equal(template.render(conversation), golden.rendered);
    assert.deepEqual(renderPrompt(tokenizer, template, conversation), golden.rendered_ids);
    assert.equal(tokenizer.decode(golden.rendered_ids, { skipSpecialTokens: false }), golden.rendered);
    assert.equal(tokenizer.vocabularySize, 428);
    assert.equal(tokenizer.endOfTextId, 2);
  });
}

test("knows each token's text and bytes, and which are special", async () => {
  const tokenizer = await loadTokenizer(folder);
  assert.equal(tokenizer.tokenText(2), "<|im_end|>");
  assert.ok(tokenizer.isSpecial(2));
  const [space, letter] = tokenizer.encode(" ö", { addSpecialTokens: false }).slice(-2);
  assert.ok(!tokenizer.isSpecial(letter));
  assert.equal(Buffer.concat([tokenizer.tokenBytes(space), tokenizer.tokenBytes(letter)]).at(-1), 0xb6);
  assert.equal(tokenizer.decode([2, 37, 2], { skipSpecialTokens: true }), tokenizer.tokenText(37));
  assert.deepEqual([...tokenizer.tokenBytes(100_000)], [], "an id beyond the vocabulary has no bytes");
  assert.deepEqual(tokenizer.encode("", { addSpecialTokens: false }), []);
});

test("puts special tokens before a text on request, also before an empty one", () => {
  const files = JSON.parse(readFileSync(`${folder}/tokenizer.json`, "utf8")) as Record<string, unknown>;
  const begins = { SpecialToken: { id: "<|im_end|>", type_id: 0 } };
  const single = [begins, { Sequence: { id: "A", type_id: 0 } }];
  const special_tokens = { "<|im_end|>": { id: "<|im_end|>", ids: [2], tokens: ["<|im_end|>"] } };
  const post_processor = { type: "TemplateProcessing", single, pair: single, special_tokens };
  const tokenizer = createTokenizer({ tokenizer: { ...files, post_processor }, config: {} });
  const [id] = tokenizer.encode("a", { addSpecialTokens: false });
  assert.deepEqual(tokenizer.encode("a", { addSpecialTokens: true }), [2, id]);
  assert.deepEqual(tokenizer.encode("", { addSpecialTokens: true }), [2]);
});

test("decodes any text it encoded to the same text", async () => {
  const tokenizer = await loadTokenizer(folder);
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const ids = tokenizer.encode(text, { addSpecialTokens: false });
      assert.equal(tokenizer.decode(ids, { skipSpecialTokens: false }), Buffer.from(text).toString());
      assert.ok(tokenizer.leastTokenCount(text) <= ids.length);
    }),
    searching(100),
  );
});

test("bounds the number of tokens of a long text without encoding it", async () => {
  const tokenizer = await loadTokenizer(folder);
  assert.ok(tokenizer.leastTokenCount("👍🏽".repeat(250_000)) > 10_000);
});

test("reads SentencePiece tokens: blanks and byte fallback", () => {
  const vocab = { "<unk>": 0, "▁a": 1, "<0xC3>": 2, "<0xB6>": 3, b: 4 };
  const tokenizer = createTokenizer({
    tokenizer: {
      model: { type: "BPE", vocab, merges: [], unk_token: "<unk>", byte_fallback: true },
      normalizer: null,
      pre_tokenizer: null,
      post_processor: null,
      decoder: {
        type: "Sequence",
        decoders: [
          { type: "Replace", pattern: { String: "▁" }, content: " " },
          { type: "ByteFallback" },
          { type: "Fuse" },
        ],
      },
      added_tokens: [],
    },
    config: { eos_token: { content: "b" } },
  });
  assert.equal(tokenizer.decode([1, 2, 3, 4], { skipSpecialTokens: false }), " aöb");
  assert.equal(tokenizer.endOfTextId, 4);
  assert.equal(tokenizer.leastTokenCount("aaaa"), 0, "unknown tokens may swallow any length");
});

test("refuses a decoder whose tokens have no fixed bytes", () => {
  const files = JSON.parse(readFileSync(`${folder}/tokenizer.json`, "utf8")) as Record<string, unknown>;
  assert.throws(
    () => createTokenizer({ tokenizer: { ...files, decoder: { type: "WordPiece" } }, config: {} }),
    {
      code: "unsupported",
      message: /decoder WordPiece/,
    },
  );
  assert.throws(() => createTokenizer({ tokenizer: {}, config: {} }), { code: "unsupported" });
});

test("reports a folder without a tokenizer", async () => {
  await assert.rejects(loadTokenizer("test/fixtures"), {
    code: "unsupported",
    message: /has no tokenizer.json/,
  });
});
