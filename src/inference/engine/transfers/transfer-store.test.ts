import assert from "node:assert/strict";
import { test } from "node:test";
import { heldBytes, type HeldPrompt } from "../../../base/domain/prompt-transfer.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { promptShapeOf, TransferStore, type HoldRequest } from "./transfer-store.ts";

const model = {
  caches: [{ kvHeadCount: 2, headSize: 3 }],
  states: [{ kind: "inputs", dims: [1, 2] }],
  vocabularySize: 5,
} as const;
const shape = promptShapeOf(model);
const origin = { weights: "w", precision: "float32", build: "b", adapter: null };
const bytesOf = (tokenCount: number): number => heldBytes(shape, tokenCount);

const storeOf = (tokenCount: number) => {
  const clock = new FakeClock();
  return { clock, store: new TransferStore(model, { bytesMax: bytesOf(tokenCount), clock }) };
};

const holdOf = (handle: string, tokenIds: readonly number[], owner = "ann"): HoldRequest => ({
  hold: { handle, seconds: 10, origin },
  owner,
  tokenIds,
});

const hold = (store: TransferStore, request: HoldRequest): boolean =>
  store.hold(request, () => ({
    blockPositions: [request.tokenIds.length],
    blocks: [Float32Array.from({ length: 12 * request.tokenIds.length }, (_, index) => index)],
    states_S: Float32Array.from([8, 9]),
    scores_V: Float32Array.from([1, 2, 3, 4, 5]),
  }));

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "none",
    (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
  );

test("a held prompt can be taken once, only by its owner, and read until it is dropped", async () => {
  const { store } = storeOf(8);
  assert.ok(hold(store, holdOf("h", [7, 8])));
  assert.equal(await store.take("h", "ben"), null);
  assert.equal(await store.take("other", "ann"), null);
  const taken = await store.take("h", "ann");
  assert.deepEqual(taken?.tokenIds, [7, 8]);
  assert.equal(await store.take("h", "ann"), null);
  const bytes = await store.read("h", 0, bytesOf(2));
  assert.deepEqual([...new Float32Array(bytes.buffer)].slice(-8), [23, 8, 9, 1, 2, 3, 4, 5]);
  await store.drop("h");
  assert.equal(await codeOf(store.read("h", 0, 4)), "not_found");
  assert.deepEqual([store.bytes, store.promptCount], [0, 0]);
});

test("an untaken prompt expires, and one that is being read gets the same time once more", async () => {
  const { store, clock } = storeOf(8);
  hold(store, holdOf("left", [1]));
  hold(store, holdOf("taken", [2]));
  await store.take("taken", "ann");
  for (const [left, taken] of [
    [1, 1],
    [0, 1],
  ]) {
    assert.equal(store.bytes, (left + taken) * bytesOf(1));
    await clock.advance(10_000);
  }
  assert.equal(store.bytes, 0);
});

test("holds and expects no more than fits, and reuses freed room", async () => {
  const { store } = storeOf(4);
  const received = (await taken(store)) satisfies HeldPrompt;
  assert.ok(hold(store, holdOf("one", [1, 2])));
  assert.equal(hold(store, holdOf("two", [1, 2, 3])), false);
  const larger = { ...received, tokenIds: [1, 2, 3], blockPositions: [3], byteLength: bytesOf(3) };
  assert.equal(await codeOf(store.expect("three", larger)), "overloaded");
  await store.drop("one");
  await store.expect("three", larger);
  assert.equal(store.bytes, bytesOf(3));
});

test("refuses data that does not fit the model, or is inconsistent", async () => {
  const { store } = storeOf(4);
  const right = await taken(store);
  const wrong: readonly Partial<HeldPrompt>[] = [
    { shape: { ...shape, positionSize: 16 } },
    { shape: { ...shape, stateSize: 3 } },
    { blockPositions: [1] },
    { blockPositions: [3, -1] },
    { byteLength: 8 },
  ];
  for (const part of wrong)
    assert.equal(await codeOf(store.expect("r", { ...right, ...part })), "conflict", JSON.stringify(part));
  await store.expect("r", right);
});

test("a request that shares too little with a received prompt is computed, and the received prompt is released", async () => {
  const { store } = storeOf(4);
  await store.expect("r", await taken(store));
  assert.equal(store.findReceived("r", [1, 9]), null);
  assert.equal(store.bytes, 0);
});

async function taken(store: TransferStore): Promise<HeldPrompt> {
  hold(store, holdOf("first", [1, 2]));
  const prompt = await store.take("first", "ann");
  await store.drop("first");
  assert.ok(prompt !== null);
  return prompt;
}
