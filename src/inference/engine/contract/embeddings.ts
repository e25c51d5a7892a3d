// Contract tests of embeddings. An embedding times the reference implementation's output projection gives the reference
// scores. The embedding depends on no other request, and its request yields nothing else.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Engine, GenerationRequest } from "../../../base/domain/generation.ts";
import { present } from "../../../base/domain/assert.ts";
import { embeddingOf } from "../../../base/domain/testing/feature-requests.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { readModelWeights } from "../../architectures/weights.ts";
import { plainLogprobs } from "../testing/plain-sampler.ts";
import { requestOf, type ShortRequest } from "../testing/run-loop.ts";
import {
  adapter,
  answerOf,
  idle,
  limitsOf,
  logprobTolerance,
  modelFolder,
  read,
  recorded,
  sharedEngine,
  type EngineUnderTest,
} from "./engine-under-test.ts";

const vocabularySize = 512;
const { tokenIds, logprobs: recordedLogprobs } = recorded.scored;

/** Weight of the output projection, [V, D]. */
const projection_VD = outputProjection();

function outputProjection(): Float32Array {
  const weights = readModelWeights(modelFolder, readModelConfig(modelFolder), { cacheFolder: null });
  const source = present(weights.get("lm_head.weight"), "a separate projection");
  assert.ok("data" in source && source.data instanceof Float32Array, "it is in memory");
  return source.data;
}

function scoresOf(values: Float32Array): readonly number[] {
  return Array.from({ length: vocabularySize }, (_, id) =>
    values.reduce((sum, value, place) => sum + value * projection_VD[id * values.length + place], 0),
  );
}

function greatestDifference(actual: Float32Array, expected: Float32Array): number {
  return actual.reduce((most, value, index) => Math.max(most, Math.abs(value - expected[index])), 0);
}

const ask = (ids: readonly number[], more: ShortRequest = {}): GenerationRequest =>
  embeddingOf(requestOf(ids, more));

async function embed(engine: Engine, request: GenerationRequest): Promise<Float32Array> {
  const { events } = await answerOf(engine, request);
  assert.deepEqual(
    events.map(({ kind }) => kind),
    ["prompt-computed", "embedding"],
  );
  const last = events[1];
  assert.ok(last.kind === "embedding");
  assert.equal(last.values.length, limitsOf(engine).embeddingSize);
  return last.values;
}

export function checkEmbeddings(under: EngineUnderTest): void {
  const { name, rounding } = under;
  const shared = sharedEngine(under);

  test(`${name}: an embedding times the output projection gives the reference implementation's scores`, async () => {
    const engine = await shared();
    const differences = await Promise.all(
      tokenIds.slice(1).map(async (next, index) => {
        const asked = ask(tokenIds.slice(0, index + 1), { id: `after ${index}` });
        const scores = scoresOf(await embed(engine, asked));
        const expected = present(recordedLogprobs[index + 1] ?? null, "the log-probability of a later token");
        return Math.abs(plainLogprobs(scores)[next] - expected);
      }),
    );
    // Rounding changes the log-probabilities of improbable tokens greatly, but changes the mean over all tokens little.
    // Quantized engines are therefore checked by the mean difference.
    const mean = differences.reduce((sum, one) => sum + one, 0) / differences.length;
    const difference = rounding === undefined ? Math.max(...differences) : mean;
    assert.ok(
      difference < logprobTolerance(under),
      `log-probabilities are ${difference} from the reference's`,
    );
  });

  test(`${name}: the same tokens have the same embedding, regardless of other and earlier requests`, async () => {
    const engine = await shared();
    const expected = await embed(engine, ask(tokenIds));
    // After this answer, the cache of an engine that caches the scores of prompts contains those of this prompt.
    await answerOf(engine, requestOf(tokenIds, { maxTokens: 2 }));
    const running = read(engine.submit(requestOf(recorded.prompt, { id: "beside", maxTokens: 60 })));
    const crowd = await Promise.all(
      [0, 1, 2, 3].flatMap((index) => [
        embed(engine, ask(tokenIds, { id: `same ${index}` })),
        embed(engine, ask(tokenIds.slice(0, 9 * index + 3), { id: `other ${index}` })),
      ]),
    );
    for (const values of crowd.filter((_, index) => index % 2 === 0)) {
      if (engine.capabilities.isExact) assert.deepEqual(values, expected);
      else assert.ok(greatestDifference(values, expected) < 1e-4);
    }
    assert.notDeepEqual(crowd[1], expected);
    assert.equal((await running).failure, null);
  });

  test(`${name}: an adapter gives its own embeddings`, async () => {
    const engine = await shared();
    const adapted = await embed(engine, ask(tokenIds, { adapter }));
    assert.notDeepEqual(adapted, await embed(engine, ask(tokenIds)));
    assert.deepEqual(adapted, await embed(engine, ask(tokenIds, { adapter })));
  });

  test(`${name}: a prompt may fill the context, because no answer follows`, async () => {
    const engine = await shared();
    const room = engine.roomFor({ kind: "sample", count: 1 });
    const longest = Array.from({ length: room }, (_, place) => tokenIds[place % tokenIds.length]);
    assert.equal((await embed(engine, ask(longest))).length, limitsOf(engine).embeddingSize);
    assert.throws(() => engine.submit(ask([...longest, 1])));
  });

  test(`${name}: an aborted embedding frees its resources`, async () => {
    const engine = await shared();
    const generation = engine.submit(ask(tokenIds, { id: "given up" }));
    generation.abort();
    assert.match((await read(generation)).failure ?? "", /^cancelled: /);
    await idle(engine);
  });

  test(`${name}: refuses a request that asks for an embedding and more`, async () => {
    const engine = await shared();
    const plain = ask(tokenIds);
    for (const nonsense of [
      { ...plain, stopping: { ...plain.stopping, maxTokens: 1 } },
      { ...plain, choices: { kind: "sample", count: 2 } },
      { ...plain, outputs: { ...plain.outputs, promptLogprobCount: 0 } },
    ] as const)
      assert.throws(() => engine.submit(nonsense), /must hold: /);
  });
}
