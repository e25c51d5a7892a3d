import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { ByteBudget, gatherBody } from "./gather-body.ts";

/** Gathers the pieces, then ends the request. */
async function gather(
  pieces: readonly string[],
  options: { readonly declared?: number; readonly bytesMax?: number; readonly budget?: ByteBudget } = {},
): Promise<string> {
  const { declared, bytesMax = 10, budget = new ByteBudget(100) } = options;
  const stream = new PassThrough();
  let giveBack = (): void => undefined;
  const gathered = gatherBody(stream, {
    headers: declared === undefined ? {} : { "content-length": String(declared) },
    bytesMax,
    budget,
    onceOver: (callback) => (giveBack = callback),
  });
  for (const piece of pieces) stream.write(piece);
  stream.end();
  try {
    return Buffer.concat((await gathered).pieces).toString();
  } finally {
    giveBack();
  }
}

test("a body is gathered within its limit, whether its length was declared or not", async () => {
  assert.equal(await gather(["abc", "def"]), "abcdef");
  assert.equal(await gather(["0123456789"], { declared: 10 }), "0123456789");
  await assert.rejects(gather(["0123456789a"]), { code: "too_large" });
  await assert.rejects(gather([], { declared: 11 }), { code: "too_large" });
  await assert.rejects(gather(["abc"], { declared: 4 }), { code: "invalid" });
});

test("all bodies together keep to the budget, and give back what they took", async () => {
  const budget = new ByteBudget(8);
  await assert.rejects(gather([], { declared: 9, budget }), { code: "overloaded", retryAfterSeconds: 5 });
  await assert.rejects(gather(["abcde", "fghi"], { budget }), { code: "overloaded" });
  assert.equal(budget.used, 0);
  assert.equal(await gather(["abcdefgh"], { declared: 8, budget }), "abcdefgh");
  assert.equal(budget.used, 0);
  budget.take(8);
  await assert.rejects(gather(["a"], { budget }), { code: "overloaded" });
});

test("a client that goes away while it sends ends the gathering", async () => {
  const stream = new PassThrough();
  const gathered = gatherBody(stream, {
    headers: {},
    bytesMax: 10,
    budget: new ByteBudget(10),
    onceOver: () => undefined,
  });
  stream.write("a");
  stream.destroy();
  await assert.rejects(gathered, { code: "cancelled" });
});
