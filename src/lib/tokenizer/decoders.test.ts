// Tests that decoding an answer token by token gives the same text as the vendored decoder, which decodes prompt and
// answer together. Covers each kind of tokenizer in use.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Tokenizer as VendorTokenizer } from "@huggingface/tokenizers";
import * as fc from "fast-check";
import { createDetokenizer } from "./detokenizer.ts";
import { createTokenizer, type TokenizerFiles } from "./tokenizer.ts";
import { searching } from "../../base/domain/testing/search.ts";

/** An added token, as in tokenizer.json. */
interface Added {
  readonly content: string;
  readonly special?: boolean;
  readonly lstrip?: boolean;
  readonly rstrip?: boolean;
}

/** Creates the files of a tokenizer with these tokens, the added ones first. */
function filesOf(decoder: object, added: readonly Added[], tokens: readonly string[]): TokenizerFiles {
  const vocab = Object.fromEntries(
    [...added.map(({ content }) => content), ...tokens].map((t, id) => [t, id]),
  );
  const defaults = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: false };
  return {
    tokenizer: {
      model: { type: "BPE", vocab, merges: [], unk_token: null, byte_fallback: true },
      normalizer: null,
      pre_tokenizer: null,
      post_processor: null,
      decoder,
      added_tokens: added.map((token, id) => ({ ...defaults, ...token, id })),
    },
    config: {},
  };
}

const begin: Added = { content: "<s>", special: true };
/** Characters of one to four bytes, two emoji with a joiner between them, and a combining accent. */
const texts = ["a", " b", "é", "東", "👍", "👩\u200d👧", "\u0301", "\n"];

/** Returns a token for each byte of the texts, as byte-level BPE spells it, and some tokens of several bytes. */
function byteLevelTokens(): readonly string[] {
  const file = JSON.parse(readFileSync("models/hone-tiny/tokenizer.json", "utf8")) as {
    readonly model: { readonly vocab: Readonly<Record<string, number>> };
  };
  return Object.keys(file.model.vocab).slice(0, 400);
}

const byteTokens = Array.from(
  { length: 256 },
  (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
);
const pieces = ["▁", "▁▁", "▁a", "a", "▁東", "京", "é", "\u0301", "👍", "▁hello"];
const blank = { String: "▁" };

const kinds: Readonly<Record<string, TokenizerFiles>> = {
  "byte-level BPE": filesOf(
    { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
    [
      begin,
      { content: "<mask>", lstrip: true },
      { content: "<tool> ", rstrip: true },
      { content: "<｜end▁é｜>", special: true },
      { content: "<é>" },
    ],
    byteLevelTokens(),
  ),
  Metaspace: filesOf(
    { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true },
    [begin, { content: "<mask>", lstrip: true }, { content: "▁<fill>", special: true }],
    pieces,
  ),
  "blanks and byte fallback, as of Llama": filesOf(
    {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: blank, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        { type: "Strip", content: " ", start: 1, stop: 0 },
      ],
    },
    [begin, { content: "▁<PRE>", special: true }],
    [...byteTokens, ...pieces],
  ),
  "runs of blanks among the added tokens, as of Gemma": filesOf(
    {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: blank, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
      ],
    },
    [begin, { content: "▁▁▁" }, { content: "\n\n" }, { content: "<end_of_turn>", special: true }],
    [...byteTokens, ...pieces],
  ),
};

/** The used part of the vendored class; see tokenizer.ts. */
interface VendorDecoder {
  decode(ids: readonly number[], options: object): string;
  token_to_id(token: string): number | undefined;
}

for (const [kind, files] of Object.entries(kinds)) {
  const tokenizer = createTokenizer(files);
  // See VendorDecoder for the reason of this cast.
  const vendor = new VendorTokenizer(files.tokenizer, files.config) as VendorDecoder;
  const decodeWhole = (ids: readonly number[]): string =>
    vendor.decode([...ids], { skip_special_tokens: false, clean_up_tokenization_spaces: false });
  const prompt = vendor.token_to_id(begin.content) ?? assert.fail(begin.content);
  const allIds = Array.from({ length: tokenizer.vocabularySize }, (_, id) => id);
  /** The tokens of a text's bytes, in the tokenizer's spelling. */
  const bytesOf = (text: string): readonly number[] =>
    [...Buffer.from(text)].map((byte) => {
      const stands = (id: number): boolean => Buffer.from([byte]).equals(tokenizer.tokenBytes(id));
      return allIds.find(stands) ?? assert.fail(`no token for the byte ${byte}`);
    });

  const read = (ids: readonly number[]): readonly string[] => {
    const detokenizer = createDetokenizer(tokenizer, { isHidden: () => false });
    return [...ids.map((id) => detokenizer.push(id)), detokenizer.flush()];
  };

  test(`decodes an answer like the vendor after its prompt: ${kind}`, () => {
    const id = fc.integer({ min: 0, max: tokenizer.vocabularySize - 1 });
    fc.assert(
      fc.property(fc.array(id, { maxLength: 12 }), (ids) => {
        const before = decodeWhole([prompt]);
        const whole = decodeWhole([prompt, ...ids]);
        assert.ok(whole.startsWith(before));
        assert.equal(read(ids).join(""), whole.slice(before.length));
      }),
      searching(300),
    );
  });

  if (kind === "Metaspace") continue;
  test(`emits only whole characters when decoding byte by byte: ${kind}`, () => {
    for (const text of texts) {
      const characters = Array.from(text);
      const shown = read(bytesOf(text)).filter((piece) => piece !== "");
      assert.deepEqual(shown, characters);
    }
    const text = texts.join("");
    assert.equal(read(bytesOf(text)).join(""), text);
  });
}

test("keeps a leading blank of an answer, and special tokens do not split the bytes of a character", () => {
  const tokenizer = createTokenizer(kinds["blanks and byte fallback, as of Llama"]);
  const tokens = ["<s>", "▁<PRE>", ...byteTokens, ...pieces];
  const detokenizer = createDetokenizer(tokenizer, { isHidden: (id) => tokenizer.isSpecial(id) });
  assert.deepEqual(
    ["▁hello", "<0xC3>", "<s>", "<0xA9>"].map((token) => detokenizer.push(tokens.indexOf(token))),
    [" hello", "", "", "é"],
  );
});
