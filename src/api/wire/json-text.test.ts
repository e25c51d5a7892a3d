import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { JsonList, jsonPieces, JsonText } from "./json-text.ts";
import { searching } from "../../base/domain/testing/search.ts";

const written = (answer: object): string =>
  [...jsonPieces(answer)]
    .map((piece) => (typeof piece === "string" ? piece : new TextDecoder().decode(piece)))
    .join("");

test("yields pieces that together equal the output of JSON.stringify", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (answer) => {
      assert.equal(written(answer), JSON.stringify(answer));
    }),
    searching(100),
  );
  assert.equal(written({ a: undefined, b: [], c: {} }), '{"b":[],"c":{}}');
});

test("yields the items of a list as separate pieces", () => {
  const content = [{ token: "a", top: [1] }, { token: "b" }];
  const pieces = [...jsonPieces({ choices: [{ logprobs: { content } }] })];
  for (const entry of content) assert.ok(pieces.includes(JSON.stringify(entry)));
});

test("writes JSON text unchanged, and creates it only when it is written", () => {
  let count = 0;
  const text = new JsonText(() => {
    count += 1;
    return '{"7":1,"3":2}';
  });
  const answer = { list: [null, text] };
  assert.equal(count, 0);
  assert.equal(written(answer), '{"list":[null,{"7":1,"3":2}]}');
  assert.equal(count, 1);
  assert.equal(written({ choices: [{ list: [text] }] }), '{"choices":[{"list":[{"7":1,"3":2}]}]}');
  assert.deepEqual(JSON.parse(JSON.stringify(answer)), { list: [null, { 7: 1, 3: 2 }] });
});

test("writes a list serialized on arrival like a plain list, and counts its bytes", () => {
  const items = fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 5 });
  fc.assert(
    fc.property(items, items, fc.nat(3), (before, added, long) => {
      let taken = 0;
      const list = new JsonList((count) => (taken += count), before);
      const all = [...added, ...Array.from({ length: long }, () => "x\u2028".repeat(40_000))];
      for (const item of all) list.add(item);
      const plain = { choices: [{ logprobs: { content: [...before, ...all] } }] };
      const answer = { choices: [{ logprobs: { content: list } }] };
      assert.deepEqual(JSON.parse(written(answer)), JSON.parse(JSON.stringify(plain)));
      assert.equal(JSON.stringify(answer), JSON.stringify(plain));
      assert.ok(taken >= 40_000 * long && taken <= written(answer).length);
      assert.equal(list.length, before.length + all.length);
    }),
    searching(20),
  );
});

test("writes many numbers of a long list in one piece", () => {
  const ids = Array.from({ length: 10_000 }, (_, index) => index);
  const answer = { choices: [{ token_ids: [...ids, null, ...ids] }] };
  assert.equal(written(answer), JSON.stringify(answer));
  assert.ok([...jsonPieces(answer)].length < 60);
});
