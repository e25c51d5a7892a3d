import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "./json.ts";
import { containWords, patternOf, wordsIn } from "./searched-words.ts";

test("splits a search into different words in lower case", () => {
  assert.deepEqual(wordsIn("  Refund\torder\u00a0REFUND "), ["refund", "order"]);
  assert.deepEqual(wordsIn(" \n"), []);
});

test("finds all words in the texts of all messages, but not in roles, ids and tokens", () => {
  const messages: readonly JsonObject[] = [
    { role: "user", content: [{ type: "text", text: "Where is MÜLLER's order?" }] },
    {
      finish_reason: "length",
      message: { role: "assistant", tool_calls: [{ id: "call_7", function: { name: "find_order" } }] },
    },
    { role: "assistant", content: null, logprobs: { content: [{ token: "zebra" }] } },
  ];
  const finds = (search: string): boolean => containWords(messages, wordsIn(search));
  for (const search of ["where", "müller order", "find_order where", "üll"]) assert.ok(finds(search), search);
  for (const search of ["zebra", "assistant", "call_7", "text where", "length", "order refund"])
    assert.ok(!finds(search), search);
  assert.ok(!containWords([], ["order"]));
});

test("keeps in a pattern only characters that the stored JSON has in this form, or in the other case of A to Z", () => {
  for (const [word, pattern] of [
    ["order", "%order%"],
    ["müller", "%m%ller%"],
    ['say"no\\', "%say%no%"],
    ["100%_x", "%100%_x%"],
    ["東京", "%東京%"],
    ["ab😀", "%ab😀%"],
    ["äöü", "%"],
    ["\ud83d", "%"],
  ] as const)
    assert.equal(patternOf(word), pattern);
});
