import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { ByteBudget, gatherBody } from "./gather-body.ts";

/** Sends the pieces as one body and returns the gathered body. */
async function gather(
  pieces: readonly string[],
  options: {
    readonly declared?: number;
    readonly bytesMax?: number;
    readonly budget?: ByteBudget;
    readonly tenant?: string;
  } = {},
): Promise<string> {
  const { declared, bytesMax = 10, budget = new ByteBudget(1 << 30), tenant = "a" } = options;
  const stream = new PassThrough();
  const held = budget.forBody(tenant);
  const gathered = gatherBody(stream, {
    headers: declared === undefined ? {} : { "content-length": String(declared) },
    bytesMax,
    held,
  });
  for (const piece of pieces) stream.write(piece);
  stream.end();
  try {
    return Buffer.concat((await gathered).pieces).toString();
  } finally {
    held.release();
  }
}

test("gathers a body within its limit, with or without a declared length", async () => {
  assert.equal(await gather(["abc", "def"]), "abcdef");
  assert.equal(await gather(["0123456789"], { declared: 10 }), "0123456789");
  await assert.rejects(gather(["0123456789a"]), { code: "too_large" });
  await assert.rejects(gather([], { declared: 11 }), { code: "too_large" });
  await assert.rejects(gather(["abc"], { declared: 4 }), { code: "invalid" });
  await assert.rejects(gather(["abc", "de"], { declared: 4 }), { code: "invalid" });
});

test("gathers a body of declared length in one buffer of exactly that size", async () => {
  const stream = new PassThrough();
  const gathered = gatherBody(stream, {
    headers: { "content-length": "6" },
    bytesMax: 10,
    held: new ByteBudget(10).forBody("a"),
  });
  for (const piece of ["ab", "cd", "ef"]) stream.write(piece);
  stream.end();
  const { pieces } = await gathered;
  assert.deepEqual(
    pieces.map((piece) => [piece.length, piece.buffer.byteLength]),
    [[6, 6]],
  );
});

/**
 * Starts gathering a body with a head check that looks for the byte `!`. `send` writes bytes one at a time. `outcome`
 * is the body's length, or the error that refused it.
 */
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
    held: new ByteBudget(1000).forBody("a"),
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

test("refuses a body by its head before the rest has arrived, after few searches of the head", async () => {
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

test("waits for the head check even if the body is already complete", async () => {
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

const mebibyte = 1 << 20;
const large = "x".repeat(mebibyte);

test("limits an entity's bodies to half of the bytes that others leave, and frees released bytes", async () => {
  const budget = new ByteBudget(4 * mebibyte);
  const sized = { bytesMax: 4 * mebibyte, budget };
  assert.equal((await gather([large, large], sized)).length, 2 * mebibyte);
  const tooMuch = { code: "overloaded", retryAfterSeconds: 5 };
  await assert.rejects(gather([], { ...sized, declared: 2 * mebibyte + 1 }), tooMuch);
  await assert.rejects(gather([large, large, "x"], sized), tooMuch);
  assert.equal(budget.used, 0, "a body that was refused is let go");
  const other = budget.forBody("b");
  other.add(2 * mebibyte);
  assert.equal((await gather([large], { ...sized, declared: mebibyte })).length, mebibyte);
  await assert.rejects(gather([large, "x"], sized), tooMuch);
  other.release();
  assert.equal(budget.used, 0);
});

test("counts bytes that have arrived rather than the declared length, and always admits a small body", async () => {
  const budget = new ByteBudget(4 * mebibyte);
  const announced = Array.from({ length: 1000 }, () => {
    const stream = new PassThrough();
    const held = budget.forBody("a");
    const headers = { "content-length": String(2 * mebibyte) };
    const gathered = gatherBody(stream, { headers, bytesMax: 2 * mebibyte, held });
    stream.write("x");
    return { stream, gone: assert.rejects(gathered, { code: "cancelled" }) };
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(budget.used, 1000);
  assert.equal((await gather([large], { bytesMax: mebibyte, budget, declared: mebibyte })).length, mebibyte);
  for (const tenant of ["a", "b", "c", "d", "e", "f"]) {
    const held = budget.forBody(tenant);
    while (budget.used < 4 * mebibyte) {
      try {
        held.add(1 << 16);
      } catch {
        break;
      }
    }
  }
  const small = "x".repeat((1 << 16) - 1);
  for (const declared of [small.length, undefined]) {
    const given = declared === undefined ? {} : { declared };
    const whole = await gather([small], { bytesMax: 1 << 17, budget, tenant: "a", ...given });
    assert.equal(whole.length, small.length);
  }
  for (const { stream } of announced) stream.destroy();
  await Promise.all(announced.map(({ gone }) => gone));
});

test("allocates the buffer of a large body only after part of it has arrived", async () => {
  const stream = new PassThrough();
  const declared = 1 << 20;
  const options = { headers: { "content-length": String(declared) }, bytesMax: declared };
  const gathered = gatherBody(stream, { ...options, held: new ByteBudget(4 * mebibyte).forBody("a") });
  const bytes = Buffer.from(Array.from({ length: declared }, (_, index) => (index * 7) % 251));
  for (let start = 0; start < declared; start += 10_007) {
    stream.write(bytes.subarray(start, start + 10_007));
    await new Promise((resolve) => setImmediate(resolve));
  }
  stream.end();
  const { pieces } = await gathered;
  assert.equal(pieces.length, 1);
  assert.ok(bytes.equals(pieces[0] ?? Buffer.alloc(0)));
});

test("stops gathering when the client disconnects", async () => {
  const stream = new PassThrough();
  const gathered = gatherBody(stream, {
    headers: {},
    bytesMax: 10,
    held: new ByteBudget(10).forBody("a"),
  });
  stream.write("a");
  stream.destroy();
  await assert.rejects(gathered, { code: "cancelled" });
});

test("refuses the body of a disconnected client immediately, and counts no bytes", async () => {
  const stream = new PassThrough().destroy();
  const budget = new ByteBudget(10);
  const options = { headers: { "content-length": "6" }, bytesMax: 10, held: budget.forBody("a") };
  await assert.rejects(gatherBody(stream, options), { code: "cancelled" });
  assert.equal(budget.used, 0);
});
