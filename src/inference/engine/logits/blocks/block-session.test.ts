// Compares the blocks that the runtime computes with sums in float64, and draws that use these blocks with draws that
// do not.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { GenerationRequest } from "../../../../base/domain/generation.ts";
import { type Random, seededRandom } from "../../../../base/domain/random.ts";
import type { SamplingParameters } from "../../../../base/domain/sampling.ts";
import { drawInputOf } from "../../testing/draw-inputs.ts";
import { requestOf } from "../../testing/run-loop.ts";
import { plainLogprobs, rankedIds } from "../../testing/plain-sampler.ts";
import { blockTemperatures, Sampler, type DrawBlocks } from "../sampler.ts";
import { BlockSession, type TemperedRow } from "./block-session.ts";
import { blockSize, type ScoreBlocks } from "./score-blocks.ts";

/** This size is not a multiple of the block size, so the last block of a row is shorter. */
const vocabularySize = 4096 + 33;

async function openBlocks(): Promise<BlockSession> {
  const session = await BlockSession.open(vocabularySize, 2);
  assert.ok(session !== null);
  return session;
}

/** Returns four rows of scores: peaked, flat, with impossible tokens, and with many equal scores. */
function rowsOf(random: Random): readonly Float32Array[] {
  const scores: readonly (() => number)[] = [
    () => 25 * random.uniform() ** 8,
    () => random.uniform(),
    () => (random.index(5) === 0 ? -Infinity : 12 * random.uniform() - 6),
    () => random.index(3),
  ];
  return scores.map((score) => Float32Array.from({ length: vocabularySize }, score));
}

function blockwise(values: Iterable<number>): readonly (readonly number[])[] {
  const all = [...values];
  return Array.from({ length: Math.ceil(all.length / blockSize) }, (_, block) =>
    all.slice(block * blockSize, (block + 1) * blockSize),
  );
}

test("maxima are exact, and masses match float64", async () => {
  const session = await openBlocks();
  for (const logits_V of rowsOf(seededRandom("rows"))) {
    for (const temperature of [0.1, 1, 2.5]) {
      const [{ maxima, masses }] = await session.blocksOf([{ logits_V, temperature }]);
      assert.deepEqual(
        [...maxima],
        blockwise(logits_V).map((block) => Math.max(...block)),
      );
      const max = Math.max(...logits_V);
      const weights = Float64Array.from(logits_V, (logit) => Math.exp((logit - max) / temperature));
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      for (const [block, values] of blockwise(weights).entries()) {
        const exact = values.reduce((sum, weight) => sum + weight, 0) / total;
        assert.ok(Math.abs(masses[block] - exact) < 3e-5 * exact + 1e-30, `${masses[block]} is not ${exact}`);
      }
    }
  }
  await session.close();
});

test("a row's blocks have the same bits in any batch, adjacent in memory or not", async () => {
  const session = await openBlocks();
  const random = seededRandom("together");
  const together = Float32Array.from({ length: 200 * vocabularySize }, () => 20 * random.uniform() ** 3);
  const rows = Array.from({ length: 200 }, (_, row): TemperedRow => ({
    logits_V: together.subarray(row * vocabularySize, (row + 1) * vocabularySize),
    temperature: [0.3, 1, 1.7][row % 3],
  }));
  const alone: ScoreBlocks[] = [];
  for (const row of rows) alone.push(...(await session.blocksOf([row])));
  assert.deepEqual(await session.blocksOf(rows), alone);
  const apart = [...rows.keys()].reverse().filter((row) => row % 2 === 0);
  assert.deepEqual(
    await session.blocksOf(apart.map((row) => rows[row])),
    apart.map((row) => alone[row]),
  );
  await session.close();
});

async function blocksFor(
  session: BlockSession,
  logits_V: Float32Array,
  request: GenerationRequest,
): Promise<DrawBlocks> {
  const temperatures = blockTemperatures(drawInputOf(request).rules);
  const at = async (temperature: number | null): Promise<ScoreBlocks | null> =>
    temperature === null ? null : (await session.blocksOf([{ logits_V, temperature }]))[0];
  return { raw: await at(temperatures.raw), tempered: await at(temperatures.tempered) };
}

const samplings: readonly Partial<SamplingParameters>[] = [
  { temperature: 0 },
  { temperature: 1 },
  { temperature: 0.7, topP: 0.9 },
  { temperature: 1.3, topP: 0.05 },
  { temperature: 0.8, topK: 20 },
  { temperature: 1, topK: 3000, topP: 0.5 },
  { temperature: 1, minP: 0.02, topP: 0.95 },
  { temperature: 0.9, topNSigma: 1 },
  { temperature: 0.02, topP: 0.9 },
  { temperature: 1, topP: 0.9, logitBias: [[3, 2]] },
];

test("draws the same tokens as without blocks, with the same alternatives", async () => {
  const session = await openBlocks();
  const sampler = new Sampler(vocabularySize);
  for (const [index, logits_V] of rowsOf(seededRandom("draws")).entries()) {
    const logprobs = plainLogprobs([...logits_V]);
    const order = rankedIds([...logits_V]).slice(0, 5);
    for (const sampling of samplings) {
      const request = requestOf([1], { sampling, topLogprobCount: 5 });
      const blocks = await blocksFor(session, logits_V, request);
      for (let seed = 0; seed < 20; seed++) {
        const context = `row ${index}, ${JSON.stringify(sampling)}, seed ${seed}`;
        const inputOf = () => drawInputOf(request, { random: seededRandom(seed) });
        const withBlocks = sampler.draw(logits_V, inputOf(), blocks);
        const without = sampler.draw(logits_V, inputOf());
        assert.ok(typeof withBlocks !== "string" && typeof without !== "string", context);
        assert.equal(withBlocks.id, without.id, context);
        assert.ok(Math.abs(withBlocks.logprob - logprobs[without.id]) < 2e-6, context);
        assert.deepEqual(
          withBlocks.alternatives.map(({ id }) => id),
          order,
        );
      }
    }
  }
  await session.close();
});

test("finds a NaN score in any block", async () => {
  const session = await openBlocks();
  const sampler = new Sampler(vocabularySize);
  const logits_V = Float32Array.from({ length: vocabularySize }, (_, id) => id % 7);
  logits_V[vocabularySize - 2] = NaN;
  for (const sampling of [{ temperature: 1 }, { temperature: 1, topK: 5 }, { temperature: 1, minP: 0.9 }]) {
    for (const topLogprobCount of [null, 1]) {
      const request = requestOf([1], { sampling, topLogprobCount });
      const blocks = await blocksFor(session, logits_V, request);
      assert.equal(sampler.draw(logits_V, drawInputOf(request), blocks), "broken scores");
    }
  }
  await session.close();
});
