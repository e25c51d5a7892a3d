// Tests that token ids outside the vocabulary are refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../base/domain/service-error.ts";
import { refuseUnknownTokens } from "./resolve-sampling.ts";
import { chatRequest, type RequestChanges } from "./testing/chat-request.ts";

function faultsOf(
  changes: RequestChanges,
  badWordIds: readonly (readonly number[])[] = [],
): readonly (readonly [string, string])[] {
  try {
    refuseUnknownTokens(chatRequest(changes), { badWordIds, vocabularySize: 512 });
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.code === "unsupported", String(error));
    return error.faults.map(({ location, message }) => [location.join("."), message]);
  }
  return [];
}

test("names every field at fault with its ids and the size of the vocabulary", () => {
  const changes = {
    sampling: { logitBias: [[1, 1] as const, [512, 1] as const], allowedTokenIds: [511, 600, 601] },
    stopping: { stopTokenIds: [0, 2 ** 40] },
  };
  assert.deepEqual(faultsOf(changes, [[5, 700], [3]]), [
    [
      "sampling.logitBias",
      "token_id(s) [512] in `sampling.logitBias` contain out-of-vocab token ids. Vocabulary size: 512; use ids below it.",
    ],
    [
      "sampling.allowedTokenIds",
      "`sampling.allowedTokenIds` contains out-of-vocab token id! [600, 601]. Vocabulary size: 512; use ids below it.",
    ],
    [
      "sampling.badWords",
      "The model vocabulary size is 512, but the following tokens were specified as bad: [700]. Leave out the words that are spelled with them.",
    ],
    [
      "stopping.stopTokenIds",
      "`stopping.stopTokenIds` contains out-of-vocab token ids [1099511627776]. Vocabulary size: 512; use ids below it.",
    ],
  ]);
});

test("accepts ids within the vocabulary", () => {
  const all = { sampling: { logitBias: [[511, 1] as const], allowedTokenIds: [0, 511] } };
  assert.deepEqual(faultsOf({ ...all, stopping: { stopTokenIds: [511] } }, [[511]]), []);
});

test("lists only the first of many ids", () => {
  const allowedTokenIds = Array.from({ length: 5000 }, (_, index) => 1000 + index);
  const [[, message]] = faultsOf({ sampling: { allowedTokenIds } });
  assert.ok(message.length < 400 && message.includes("1000, 1001"));
});
