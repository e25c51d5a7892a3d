// Tests incremental decoding against decoding all at once.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createDetokenizer } from "./detokenizer.ts";
import { loadTokenizer } from "./tokenizer.ts";
import { completeLength } from "./detokenizer.ts";
import { searching } from "../../base/domain/testing/search.ts";

const tokenizer = await loadTokenizer("test/fixtures/goldens/models/qwen3");
const isSpecial = (id: number): boolean => tokenizer.isSpecial(id);

test("joined outputs are the text of all tokens, for any tokens", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 520 })), fc.boolean(), (ids, skipSpecialTokens) => {
      const detokenizer = createDetokenizer(tokenizer, {
        isHidden: skipSpecialTokens ? isSpecial : () => false,
      });
      const pieces = ids.map((id) => {
        const expected = detokenizer.peek(id);
        const piece = detokenizer.push(id);
        assert.equal(piece, expected, "peek returns the same as push");
        return piece;
      });
      assert.equal(pieces.join("") + detokenizer.flush(), tokenizer.decode(ids, { skipSpecialTokens }));
    }),
    searching(200),
  );
});

test("a character spread over tokens appears whole, with the token that completes it", () => {
  const ids = tokenizer.encode("東", { addSpecialTokens: false });
  assert.ok(ids.length > 1, "the fixture's vocabulary splits this character");
  const detokenizer = createDetokenizer(tokenizer, { isHidden: isSpecial });
  assert.deepEqual(
    ids.map((id) => detokenizer.push(id)),
    [...ids.slice(1).map(() => ""), "東"],
  );
  assert.equal(detokenizer.flush(), "");
});

test("an incomplete character at the end becomes a replacement character", () => {
  const [first] = tokenizer.encode("東", { addSpecialTokens: false });
  const detokenizer = createDetokenizer(tokenizer, { isHidden: isSpecial });
  assert.equal(detokenizer.push(first), "");
  assert.equal(detokenizer.flush(), "\ufffd");
  assert.equal(detokenizer.flush(), "", "it is told once");
});

test("a cut never splits a sequence that a decoder reads as one character", () => {
  const decode = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  // Bytes that begin, continue and break characters, more often than by chance.
  const byte = fc.oneof(
    fc.constantFrom(0x41, 0x80, 0x9f, 0xa0, 0xbf, 0xc2, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5),
    fc.integer({ min: 0, max: 255 }),
  );
  fc.assert(
    fc.property(fc.array(byte, { maxLength: 8 }), fc.array(byte, { maxLength: 4 }), (before, after) => {
      const length = completeLength(Uint8Array.from(before));
      assert.ok(before.length - length <= 3);
      const all = decode(Uint8Array.from([...before, ...after]));
      const cut =
        decode(Uint8Array.from(before.slice(0, length))) +
        decode(Uint8Array.from([...before.slice(length), ...after]));
      assert.equal(cut, all);
    }),
    searching(1000),
  );
});
