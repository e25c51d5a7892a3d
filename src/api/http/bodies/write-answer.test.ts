// Tests that long answers are sent in pieces, and that their bytes count towards the memory budget.
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { bearer, fakeServer } from "../testing/fake-server.ts";
import { ByteBudget } from "./gather-body.ts";
import { answerBytes } from "./write-answer.ts";

const mebibyte = 1 << 20;
/** Returns a fake reply with the members that {@link answerBytes} uses. */
function replyTo(entity: string) {
  // Safe cast: the tested function reads only whether the response has ended.
  const raw = Object.assign(new EventEmitter(), { destroyed: false }) as unknown as ServerResponse;
  return { raw, request: { caller: { entity } } };
}

test("leaves the first mebibyte of an answer uncounted, counts the rest until the answer ends, and refuses too much", () => {
  const budget = new ByteBudget(4 * mebibyte);
  const [first, second] = [replyTo("a"), replyTo("a")];
  const take = answerBytes(first, budget);
  take(mebibyte - 1);
  assert.equal(budget.used, 0);
  take(mebibyte + 1);
  assert.equal(budget.used, mebibyte);
  const other = answerBytes(second, budget);
  other(2 * mebibyte);
  assert.throws(
    () => other(1),
    (error) => error instanceof ServiceError && error.code === "overloaded" && error.retryAfterSeconds === 5,
  );
  answerBytes(replyTo("b"), budget)(2 * mebibyte);
  second.raw.emit("close");
  first.raw.emit("close");
  assert.equal(budget.used, mebibyte, "the other entity's");
  take(1);
  assert.equal(budget.used, mebibyte);
});

test("answers 429 if the share has no room, and holds no bytes afterwards", async () => {
  const server = await fakeServer({ settings: { bodyBytesInFlight: mebibyte } });
  const text = "x".repeat(1000);
  server.chat.script.pieces = Array.from({ length: 600 }, () => ({ text }));
  const payload = { messages: [{ role: "user", content: "hi" }], logprobs: true, top_logprobs: 2 };
  const request = {
    method: "POST",
    url: "/v1/chat/completions",
    headers: { authorization: bearer() },
    payload,
  } as const;
  for (let round = 0; round < 3; round++) {
    const answer = await server.ask(request);
    assert.equal(answer.statusCode, 429);
    assert.equal(answer.headers["retry-after"], "5");
  }
  server.chat.script.pieces = server.chat.script.pieces.slice(0, 100);
  const answer = await server.ask(request);
  assert.equal(answer.statusCode, 200);
  const { choices } = answer.json() as {
    readonly choices: readonly [{ readonly logprobs: { readonly content: readonly unknown[] } }];
  };
  assert.equal(choices[0].logprobs.content.length, 100);
  await server.close();
});
