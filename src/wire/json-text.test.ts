import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { jsonPieces, JsonText } from "./json-text.ts";

const written = (answer: object): string => [...jsonPieces(answer)].join("");

test("the pieces are what is written at once", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (answer) => {
      assert.equal(written(answer), JSON.stringify(answer));
    }),
  );
  assert.equal(written({ a: undefined, b: [], c: {} }), '{"b":[],"c":{}}');
});

test("the items of a list are pieces of their own", () => {
  const content = [{ token: "a", top: [1] }, { token: "b" }];
  const pieces = [...jsonPieces({ choices: [{ logprobs: { content } }] })];
  for (const entry of content) assert.ok(pieces.includes(JSON.stringify(entry)));
});

test("what is JSON already stands as it is, and is made when it is written", () => {
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
