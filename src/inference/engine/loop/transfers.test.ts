// Tests prompts that one loop computes and another loop answers. The answers must have the same bits as from a single
// loop, regardless of other requests. The second loop must not compute the transferred part again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../../base/domain/clock.ts";
import { present } from "../../../base/domain/assert.ts";
import { heldBytes } from "../../../base/domain/prompt-transfer.ts";
import type { GenerationRequest } from "../../../base/domain/generation.ts";
import type { Quantization } from "../../../base/domain/model.ts";
import { seededRandom, type Random } from "../../../base/domain/random.ts";
import { searchedOf, searchSeeds } from "../../../base/domain/testing/search.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { readQuantizedWeights } from "../../architectures/weights.ts";
import { stateBytes } from "../cache/sequence-states.ts";
import { positionBytes } from "../cache/slab.ts";
import { createGraphRunner } from "../graph-runner.ts";
import type { ModelRunner } from "../model-runner.ts";
import { FakeRunner, fakeShape } from "../testing/fake-runner.ts";
import { observedLoop, requestOf, runTogether, smallLimits, type Transcript } from "../testing/run-loop.ts";
import { ReceivedPrompt } from "../transfers/received-prompt.ts";
import { promptShapeOf, TransferStore } from "../transfers/transfer-store.ts";
import type { LoopOptions } from "./engine-loop.ts";
import { integerKernels } from "../../onnx/integer-kernels.ts";

const origin = { weights: "w", precision: "float32", build: "b", adapter: null };
const hold = { handle: "h", seconds: 60, origin };

const storeFor = (runner: ModelRunner, bytesMax = 2 ** 26): TransferStore =>
  new TransferStore(runner.shape, { bytesMax, clock: systemClock });

const withPrompt = (
  request: GenerationRequest,
  more: Partial<GenerationRequest["prompt"]>,
): GenerationRequest => ({ ...request, prompt: { ...request.prompt, ...more } });

/**
 * Computes a prompt and holds it for transfer, as a prefill server does. Then copies it to another store in pieces,
 * whose size does not divide the size of its blocks.
 */
const carry = async (
  runner: ModelRunner,
  request: GenerationRequest,
  { limits, to }: { readonly limits: LoopOptions; readonly to: TransferStore },
): Promise<void> => {
  const transfers = storeFor(runner);
  const held = withPrompt({ ...request, stopping: { ...request.stopping, maxTokens: 1 } }, { hold });
  const [transcript] = await runTogether(runner, [held], { ...limits, transfers });
  assert.equal(computedOf(transcript)?.isHeld, true);
  const prompt = present(await transfers.take("h", request.cacheOwner), "a held prompt");
  await to.expect("r", prompt);
  for (let offset = 0; offset < prompt.byteLength; offset += 1001)
    await to.write(
      "r",
      offset,
      await transfers.read("h", offset, Math.min(1001, prompt.byteLength - offset)),
    );
  await transfers.drop("h");
  assert.equal(transfers.bytes, 0);
};

const computedOf = ({ events }: Transcript) => events.find((event) => event.kind === "prompt-computed");

/** Returns the events sorted by choice, because other requests may change the order between choices. */
const answerOf = ({ events, failure }: Transcript) => ({
  failure,
  tokens: events
    .filter((event) => event.kind === "tokens")
    .toSorted((one, other) => one.choice - other.choice),
});

const limitsOf = (random: Random, runner: ModelRunner): LoopOptions => ({
  slotCountMax: 2 + random.index(6),
  kvCacheBytesMax: (2 + random.index(12)) * (128 * positionBytes(runner.shape) + stateBytes(runner.shape)),
  prefixCachePercent: [0, 30, 100][random.index(3)],
  tokensPerStepMax: [16, 64, 128][random.index(3)],
  promptChunkTokens: [8, 37, 64][random.index(3)],
});

/**
 * Transfers a prompt between two loops with different limits, and compares the answer with that of one loop. Other
 * requests run in the second loop meanwhile.
 */
const checkTransfer = async (runner: ModelRunner, seed: number): Promise<void> => {
  const random = seededRandom("transfers", seed);
  const ids = (count: number): number[] =>
    Array.from({ length: count }, () => random.index(runner.shape.vocabularySize));
  const beams = random.index(3) === 0 ? { width: 2, lengthPenalty: 1 } : undefined;
  const request = requestOf(ids(40 + random.index(60)), {
    maxTokens: 1 + random.index(12),
    topLogprobCount: 2,
    choiceCount: 1 + random.index(2),
    sampling: { temperature: 1, seed },
    ...(beams === undefined ? {} : { beams }),
  });
  const others = [1, 2, 3].map((index) =>
    requestOf(ids(1 + random.index(60)), { id: `other ${index}`, priority: random.index(3) - 1 }),
  );
  const to = storeFor(runner);
  await carry(runner, request, { limits: limitsOf(random, runner), to });
  const { loop, transcript } = observedLoop(runner, { ...limitsOf(random, runner), transfers: to });
  const arrivals = [withPrompt(request, { received: "r" }), ...others].map((each, key) => ({
    each,
    key,
    step: random.index(6),
  }));
  for (let step = 0; loop.hasWork || step < 6; step++) {
    for (const arrival of arrivals)
      if (arrival.step === step)
        loop.submit(arrival.key, {
          ...arrival.each,
          priority: arrival.key === 0 ? 0 : arrival.each.priority,
        });
    await loop.step();
  }
  const [alone] = await runTogether(runner, [request], { ...smallLimits, promptChunkTokens: 128 });
  assert.deepEqual(answerOf(transcript(0)), answerOf(alone), `seed ${seed}`);
  assert.equal(to.bytes, 0, "the received prompt is released");
};

const models = [
  ["llama", "off"],
  ["llama", "8"],
  ["llama", "4"],
  ["mistral-sliding", "off"],
] as const satisfies readonly (readonly [string, Quantization])[];

const withStates = [
  ["lfm2", "off"],
  ["qwen3.5", "off"],
  ["qwen3.5-moe", "off"],
  ["gemma4", "off"],
  ["granite4-hybrid", "off"],
  ["nemotron-h", "off"],
] as const satisfies readonly (readonly [string, Quantization])[];

for (const [name, quantization] of [...searchedOf(models, 1), ...searchedOf(withStates, 1)]) {
  test(`${name}, ${quantization}: answers to a transferred prompt equal those of one loop to the last bit`, async () => {
    const folder = `test/fixtures/goldens/models/${name}`;
    const config = readModelConfig(folder);
    const read = { cacheFolder: null, quantization, kernels: await integerKernels(null) };
    const { sources, forms } = readQuantizedWeights(folder, config, read);
    const options = { config, weights: sources, forms, threads: 2, adapterCountMax: 1 };
    const runner = await createGraphRunner(options);
    for (const seed of searchSeeds(1)) await checkTransfer(runner, seed);
    await runner.close();
  });
}

const prompt = Array.from({ length: 100 }, (_, index) => (index * 7) % fakeShape.vocabularySize);

/** Transfers the prompt to a second loop, and answers a request with it there. */
const answered = async (
  request: GenerationRequest,
): Promise<{ readonly runner: FakeRunner; readonly transcript: Transcript }> => {
  const runner = new FakeRunner();
  const transfers = storeFor(runner);
  await carry(new FakeRunner(), requestOf(prompt), { limits: smallLimits, to: transfers });
  const received = withPrompt(request, { received: "r" });
  const [transcript] = await runTogether(runner, [received], { ...smallLimits, transfers });
  assert.equal(transfers.bytes, 0);
  const [alone] = await runTogether(new FakeRunner(), [request]);
  assert.deepEqual(answerOf(transcript), answerOf(alone));
  return { runner, transcript };
};

test("computes nothing of a prompt that was transferred whole", async () => {
  const { runner, transcript } = await answered(requestOf(prompt));
  assert.deepEqual(runner.prefillSizes, []);
  assert.deepEqual(computedOf(transcript), { kind: "prompt-computed", cachedTokenCount: 100 });
});

test("computes the rest of a prompt that shares a prefix, and all of a different one", async () => {
  const cases: readonly (readonly [number[], number])[] = [
    [[...prompt.slice(0, 70), 1, 1, 1], 70],
    [prompt.slice(0, 60), 59],
    [[...prompt, 5, 6], 100],
    [[...prompt.slice(0, 20), 1, 1], 0],
    [[1, ...prompt], 0],
  ];
  for (const [tokenIds, cachedTokenCount] of cases) {
    const { transcript } = await answered(requestOf(tokenIds));
    assert.deepEqual(computedOf(transcript), { kind: "prompt-computed", cachedTokenCount });
  }
});

test("states are used only after the whole transferred prompt", () => {
  const shape = promptShapeOf({ ...fakeShape, states: [{ kind: "inputs", dims: [1, 2] }] });
  const held = { origin, tokenIds: prompt, shape, blockPositions: [100], byteLength: heldBytes(shape, 100) };
  const countOf = (tokenIds: readonly number[]): number =>
    new ReceivedPrompt({ prompt: held, arrays: [] }, tokenIds, () => undefined).tokenCount;
  assert.deepEqual(
    [prompt, [...prompt, 5, 6], [...prompt.slice(0, 70), 1], prompt.slice(0, 60)].map(countOf),
    [100, 100, 0, 0],
  );
});

test("computes a prompt whose log-probabilities are wanted, despite a transfer", async () => {
  const { runner, transcript } = await answered(requestOf(prompt, { promptLogprobCount: 1 }));
  assert.ok(runner.prefillSizes.length > 0);
  assert.equal(transcript.promptLogprobs().length, 100);
});

test("a request whose prompt there is no room to hold says so, and is answered anyway", async () => {
  const runner = new FakeRunner();
  const transfers = storeFor(runner, 1000);
  const request = withPrompt(requestOf(prompt), { hold });
  const [transcript] = await runTogether(runner, [request], { ...smallLimits, transfers });
  assert.equal(computedOf(transcript)?.isHeld, false);
  assert.equal(transcript.ids().length, 16);
});

test("a held prompt stays intact while the cache that contains it evicts others", async () => {
  const runner = new FakeRunner();
  const transfers = storeFor(runner);
  const kvCacheBytesMax = 512 * positionBytes(fakeShape);
  const limits = { ...smallLimits, kvCacheBytesMax, prefixCachePercent: 50, transfers };
  const { loop } = observedLoop(runner, limits);
  loop.submit(0, withPrompt(requestOf(prompt, { maxTokens: 1 }), { hold }));
  while (loop.hasWork) await loop.step();
  const { byteLength } = present(await transfers.take("h", ""), "a held prompt");
  const before = await transfers.read("h", 0, byteLength);
  for (let key = 1; key < 6; key++) {
    loop.submit(key, requestOf(prompt.map((id) => (id + key) % fakeShape.vocabularySize)));
    while (loop.hasWork) await loop.step();
  }
  assert.deepEqual(await transfers.read("h", 0, byteLength), before);
  transfers.close();
});

test("a request aborted before its prompt is in a slot frees the transferred data", async () => {
  const runner = new FakeRunner();
  const transfers = storeFor(runner);
  await carry(new FakeRunner(), requestOf(prompt), { limits: smallLimits, to: transfers });
  const { loop, transcript } = observedLoop(runner, { ...smallLimits, slotCountMax: 1, transfers });
  loop.submit(0, requestOf([1, 2, 3]));
  await loop.step();
  loop.submit(1, withPrompt(requestOf(prompt), { received: "r" }));
  await loop.step();
  assert.ok(transfers.bytes > 0);
  loop.abort(1);
  while (loop.hasWork) await loop.step();
  assert.deepEqual([transfers.bytes, transcript(1).events], [0, []]);
});
