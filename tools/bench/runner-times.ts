// Measures how long a model runner takes for a decode step and for a prompt. Excludes the child process, the scheduler
// and the sampler.
import { systemClock } from "../../src/base/domain/clock.ts";
import { KvLane, roundUpPositions } from "../../src/inference/engine/cache/kv-lane.ts";
import type { ModelRunner } from "../../src/inference/engine/model-runner.ts";

/** Number of tokens in the cache of each row before a decode step. */
export const contextCount = 256;
export const batchSizes = [1, 8, 16] as const;

/** Returns a prompt of token ids that exist in every vocabulary. */
export function promptTokens(count: number): readonly number[] {
  return Array.from({ length: count }, (_, position) => position + 1);
}

/** Returns the shortest time of a decode step with `size` rows. Each row's cache holds {@link contextCount} tokens. */
export async function bestDecodeMs(runner: ModelRunner, size: number): Promise<number> {
  const lane = filledLane(runner, size);
  return bestOf(8, () => decodeAgain(runner, lane));
}

/**
 * For each number of drafted tokens, returns the shortest time of a one-row step divided by that of a step without
 * drafts. Measures the numbers in turn, so that drift in the machine's speed favours none.
 */
export async function draftedStepCosts(
  runner: ModelRunner,
  counts: readonly number[],
  turns: number,
): Promise<ReadonlyMap<number, number>> {
  const lane = filledLane(runner, 1);
  const best = new Map<number, number>();
  let bestPlain = Infinity;
  for (let turn = 0; turn < turns; turn++) {
    bestPlain = Math.min(bestPlain, await bestOf(1, () => decodeAgain(runner, lane)));
    for (const count of counts) {
      const ms = await bestOf(1, async () => {
        await runner.decodeDrafts(lane, null, [promptTokens(count + 1)]);
        lane.advance(0, -1);
      });
      best.set(count, Math.min(best.get(count) ?? Infinity, ms));
    }
  }
  return new Map(counts.map((count) => [count, (best.get(count) ?? NaN) / bestPlain]));
}

/** Returns a lane in which each row has a context of {@link contextCount} tokens. */
function filledLane(runner: ModelRunner, size: number): KvLane {
  const lane = new KvLane(runner.shape);
  lane.reshape(size, roundUpPositions(contextCount + 8));
  for (let slot = 0; slot < size; slot++) lane.advance(lane.takeSlot(), contextCount);
  // Fills the cache with values. The system maps all unwritten memory to a single page of zeros, which would always be
  // in the processor's nearest cache.
  for (let layer = 0; layer < runner.shape.caches.length; layer++) {
    for (const slab of [lane.keys(layer, 0, size), lane.values(layer, 0, size)]) slab.fill(0.01);
  }
  return lane;
}

/** Decodes one token for each row, then removes it from the context, so that the next call computes the same step. */
async function decodeAgain(runner: ModelRunner, lane: KvLane): Promise<void> {
  await runner.decode(
    lane,
    null,
    lane.lengths.map((_, row) => row + 1),
  );
  for (let slot = 0; slot < lane.usedCount; slot++) lane.advance(slot, -1);
}

/** Returns the shortest time to prefill a prompt of `count` tokens. */
export async function bestPrefillMs(runner: ModelRunner, count: number = contextCount): Promise<number> {
  const lane = new KvLane(runner.shape);
  lane.reshape(1, roundUpPositions(count));
  lane.takeSlot();
  const tokenIds = promptTokens(count);
  return bestOf(3, async () => {
    await runner.prefill(lane, null, [{ slot: 0, tokenIds, logits: "last" }]);
    lane.advance(0, -count);
  });
}

/** Returns the duration of the fastest of `count` runs, in milliseconds. */
export async function bestOf(count: number, run: () => Promise<void>): Promise<number> {
  let best = Infinity;
  for (let turn = 0; turn < count; turn++) {
    const startMs = systemClock.monotonicMs();
    await run();
    best = Math.min(best, systemClock.monotonicMs() - startMs);
  }
  return best;
}
