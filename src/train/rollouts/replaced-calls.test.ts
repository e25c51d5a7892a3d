// Tests which calls of a rollout are replaced by later attempts. Each call is written as its number, its retry count
// and its tokens.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ComparedCall, replacedCalls } from "./replaced-calls.ts";

interface Named extends ComparedCall {
  readonly name: string;
}

/** Returns a call whose prompt is `prompt`, and whose answer is one token. */
function call(name: string, prompt: readonly number[], token: number, more: Partial<Named> = {}): Named {
  const hash = JSON.stringify(prompt);
  const attempt = { hash, retryCount: 0, mayReplace: false };
  const answers = [{ promptTokenIds: prompt, tokenIds: [token] }];
  return { name, attempt, isUndelivered: false, answers, ...more };
}

const retry = (name: string, prompt: readonly number[], token: number, retryCount = 1): Named =>
  call(name, prompt, token, { attempt: { hash: JSON.stringify(prompt), retryCount, mayReplace: true } });

function check(calls: readonly Named[], expected: Readonly<Record<string, string>>): void {
  const replaced = [...replacedCalls(calls)].map(([one, by]) => [one.name, by.name]);
  assert.deepEqual(Object.fromEntries(replaced), expected);
}

test("a repeated call replaces the earlier attempt, and each further attempt the one before", () => {
  const first = call("a", [1], 2);
  check([first, retry("b", [1], 3)], { a: "b" });
  check([first, retry("b", [1], 3), retry("c", [1], 4, 2)], { a: "b", b: "c" });
  check([first, call("other", [1], 5), retry("b", [1], 3), retry("c", [1], 4, 2)], { b: "c" });
  // The attempt between them was lost before it had an answer.
  check([first, retry("c", [1], 4, 2)], { a: "c" });
});

test("calls with other requests, and attempts that may replace none, replace nothing", () => {
  check([call("a", [1], 2), retry("b", [5], 3)], {});
  check([call("a", [1], 2), call("b", [1], 3)], {});
  check([call("a", [1], 2, { attempt: null }), retry("b", [1], 3)], {});
  check([retry("a", [1], 2), retry("b", [1], 3)], {});
});

test("an answer that a later call continues was received, so it is kept", () => {
  check([call("a", [1], 2), call("next", [1, 2, 9], 4), retry("b", [1], 3)], {});
  // The continued answer is the second one, whose tokens are the same.
  check([call("a", [1], 2), retry("b", [1], 2), call("next", [1, 2, 9], 4)], { a: "b" });
});

test("of several equal requests, only one that is known to be undelivered is replaced", () => {
  const two = [call("a", [1], 2), call("b", [1], 3)];
  check([...two, retry("c", [1], 4)], {});
  check([...two.slice(0, 1), call("b", [1], 3, { isUndelivered: true }), retry("c", [1], 4)], { b: "c" });
  check([...two, call("next", [1, 3, 9], 5), retry("c", [1], 4)], { a: "c" });
});

test("an attempt replaces all earlier attempts with the same idempotency key", () => {
  const keyed = (name: string, token: number): Named =>
    call(name, [1], token, { attempt: { hash: "key", retryCount: null, mayReplace: true } });
  check([keyed("a", 2), keyed("b", 3), keyed("c", 4)], { a: "b", b: "c" });
});
