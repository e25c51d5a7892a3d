import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { OrderedOperations } from "./ordered-operations.ts";
import type { SessionResult } from "./results.ts";

function bench(operationsMax = 8) {
  const clock = new FakeClock();
  const operations = new OrderedOperations(clock, { operationsMax, gapMs: 1000 }, Promise.resolve());
  const ran: number[] = [];
  const results: Promise<SessionResult>[] = [];
  const submit = (seqId: number, fingerprint = `${seqId}`): string =>
    operations.submit(
      { seqId, fingerprint },
      async () => {
        ran.push(seqId);
        return { kind: "stepped", metrics: { seqId } };
      },
      (result) => `future ${results.push(result)}`,
    );
  return { clock, operations, ran, results, submit };
}

test("runs operations in order, however they arrive, and each once", async () => {
  const { ran, results, submit } = bench();
  const third = submit(3);
  submit(2);
  assert.equal(submit(3), third);
  assert.deepEqual(ran, []);
  submit(1);
  submit(0);
  await Promise.all(results);
  assert.deepEqual(ran, [1, 2, 3, 0]);
  assert.equal(submit(3), third);
  assert.throws(() => submit(3, "other"), { code: "conflict", message: /another operation with seq_id 3/ });
});

test("continues after an operation that fails", async () => {
  const { operations, ran, results, submit } = bench();
  const failing = new Promise<SessionResult>((_, reject) => {
    operations.submit(
      { seqId: 1, fingerprint: "1" },
      () => Promise.reject(new Error("no")),
      (result) => {
        result.catch(reject);
        return "future";
      },
    );
  });
  submit(2);
  await assert.rejects(failing, /no/);
  await Promise.all(results);
  assert.deepEqual(ran, [2]);
});

test("runs later operations without a refused one, which may be sent again", async () => {
  const { operations, ran, results, submit } = bench();
  submit(2);
  operations.passOver(1);
  submit(4);
  operations.passOver(5);
  submit(3);
  submit(5);
  await Promise.all(results);
  assert.deepEqual(ran, [2, 3, 4, 5]);
  submit(1);
  await Promise.all(results);
  assert.deepEqual(ran, [2, 3, 4, 5, 1]);
  assert.throws(() => submit(1, "other"), { code: "conflict" });
});

test("stops waiting for missing operations once no operation has come for a while", async () => {
  const { clock, operations, ran, results, submit } = bench();
  submit(3);
  await clock.advance(999);
  submit(4);
  await clock.advance(999);
  operations.sweep();
  assert.deepEqual(ran, []);
  await clock.advance(2);
  operations.sweep();
  await Promise.all(results);
  assert.deepEqual(ran, [3, 4]);
});

test("limits the operations that wait", () => {
  const { submit } = bench(2);
  submit(2);
  assert.throws(() => submit(4), { code: "overloaded", message: /2 operations of the model wait/ });
});
