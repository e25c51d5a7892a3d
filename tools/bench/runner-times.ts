// The time that a model runner takes for a step and for a prompt, without process, scheduler and sampler.
import { systemClock } from "../../src/base/domain/clock.ts";
import { KvLane, roundUpPositions } from "../../src/inference/engine/cache/kv-lane.ts";
import type { ModelRunner } from "../../src/inference/engine/model-runner.ts";

/** Tokens in the cache of each row that decodes. */
export const contextCount = 256;
export const batchSizes = [1, 8, 16] as const;

/** A prompt of tokens that exist in every vocabulary. */
export function promptTokens(count: number): readonly number[] {
  return Array.from({ length: count }, (_, position) => position + 1);
}

/** Returns the best time to decode one token for each of `size` rows whose caches hold {@link contextCount} tokens. */
export async function bestDecodeMs(runner: ModelRunner, size: number): Promise<number> {
  const lane = filledLane(runner, size);
  return bestOf(8, () => decodeAgain(runner, lane));
}

/**
 * Returns, for each count of drafted tokens, the time of a row's step relative to one without drafts. The best of all
 * turns counts; the counts alternate, so that a machine that changes its pace favours none.
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

/** Returns a lane whose rows each have a context of {@link contextCount}. */
function filledLane(runner: ModelRunner, size: number): KvLane {
  const lane = new KvLane(runner.shape);
  lane.reshape(size, roundUpPositions(contextCount + 8));
  for (let slot = 0; slot < size; slot++) lane.advance(lane.takeSlot(), contextCount);
  // Unwritten memory maps to one page of zeros, which the nearest cache would serve.
  for (let layer = 0; layer < runner.shape.layerCount; layer++) {
    for (const slab of [lane.keys(layer, 0, size), lane.values(layer, 0, size)]) slab.fill(0.01);
  }
  return lane;
}

/** Decodes one token for each row and restores the context, so that the next call takes the same step. */
async function decodeAgain(runner: ModelRunner, lane: KvLane): Promise<void> {
  await runner.decode(
    lane,
    null,
    lane.lengths.map((_, row) => row + 1),
  );
  for (let slot = 0; slot < lane.usedCount; slot++) lane.advance(slot, -1);
}

/** Returns the best time to prefill a prompt of `count` tokens. */
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

/** Returns the shortest of `count` runs, in milliseconds. */
export async function bestOf(count: number, run: () => Promise<void>): Promise<number> {
  let best = Infinity;
  for (let turn = 0; turn < count; turn++) {
    const startMs = systemClock.monotonicMs();
    await run();
    best = Math.min(best, systemClock.monotonicMs() - startMs);
  }
  return best;
}
