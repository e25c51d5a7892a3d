import assert from "node:assert/strict";
import { once } from "node:events";
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
  await assert.rejects(gather(["abc", "de"], { declared: 4 }), { code: "invalid" });
});

test("a body of declared length lies in one place, where it is read without another copy of it", async () => {
  const stream = new PassThrough();
  const gathered = gatherBody(stream, {
    headers: { "content-length": "6" },
    bytesMax: 10,
    budget: new ByteBudget(10),
    onceOver: () => undefined,
  });
  for (const piece of ["ab", "cd", "ef"]) stream.write(piece);
  stream.end();
  const { pieces } = await gathered;
  assert.deepEqual(
    pieces.map((piece) => [piece.length, piece.buffer.byteLength]),
    [[6, 6]],
  );
});

/** A body that comes in pieces of one byte, and whose head is found at `!`: its length, or why it was refused. */
function gatherChecked(check: () => Promise<void>) {
  const stream = new PassThrough();
  const looks: number[] = [];
  const find = (bytes: Buffer): string | null => {
    looks.push(bytes.length);
    return bytes.includes("!") ? "!" : null;
  };
  const gathered = gatherBody(stream, {
    headers: {},
    bytesMax: 1000,
    budget: new ByteBudget(1000),
    onceOver: () => undefined,
    head: { find, check },
  });
  const outcome = gathered.then(
    ({ byteCount }) => byteCount,
    (error: unknown) => String(error),
  );
  const send = async (text: string): Promise<void> => {
    for (const character of text) {
      stream.write(character);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { stream, outcome, looks, send };
}

test("a body is refused by its head before the rest has come, and looked at a few times only", async () => {
  let checkCount = 0;
  const passes = async (): Promise<void> => void (checkCount += 1);
  const passed = gatherChecked(passes);
  await passed.send(`abc!${"d".repeat(200)}`);
  passed.stream.end();
  assert.deepEqual([await passed.outcome, passed.looks, checkCount], [204, [1, 2, 4], 1]);
  const headless = gatherChecked(passes);
  await headless.send("d".repeat(200));
  headless.stream.end();
  assert.deepEqual([await headless.outcome, headless.looks], [200, [1, 2, 4, 8, 16, 32, 64, 128]]);
  const refused = gatherChecked(() => Promise.reject(new Error("unknown")));
  await refused.send("!");
  assert.equal(await refused.outcome, "Error: unknown", "though it never ends");
});

test("a body that is complete waits for the check of its head", async () => {
  let refuse = (): void => undefined;
  const late = gatherChecked(
    () => new Promise((_resolve, reject) => (refuse = () => reject(new Error("late")))),
  );
  await late.send("!");
  late.stream.end();
  await once(late.stream, "end");
  refuse();
  assert.equal(await late.outcome, "Error: late");
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

test("a body whose client went away before it is read is refused at once, and takes nothing", async () => {
  const stream = new PassThrough().destroy();
  const budget = new ByteBudget(10);
  const options = { headers: { "content-length": "6" }, bytesMax: 10, budget, onceOver: () => undefined };
  await assert.rejects(gatherBody(stream, options), { code: "cancelled" });
  assert.equal(budget.used, 0);
});
