// Measures how much longer a step of the model runner takes if its rows have different lengths or different adapters.
// The variants take turns in one process.
import { systemClock } from "../../src/base/domain/clock.ts";
import { toAdapterFeeds } from "../../src/inference/engine/adapters/read-adapter.ts";
import { KvLane } from "../../src/inference/engine/cache/kv-lane.ts";
import { createGraphRunner } from "../../src/inference/engine/graph-runner.ts";
import type { DecodingRows, LoadedAdapter, ModelRunner } from "../../src/inference/engine/model-runner.ts";
import { createLoraAdapter } from "../../src/inference/architectures/lora.ts";
import { runBench, type BenchOptions } from "./run-bench.ts";
import { subjects, type Subject } from "./subjects.ts";

const help = `Usage: node dist/tools/bench/lanes.js [flags]
Times a step of 15 rows with 256 tokens each, and of the same rows plus one with 1,000 tokens: in a separate lane within the same
call, and in the same lane. Also times two adapters of rank 8 with 8 rows each in one call, and one adapter with 16 rows.`;

interface LaneReport {
  readonly name: string;
  /** Milliseconds per step by variant; the best of all rounds. */
  readonly stepMs: Readonly<Record<string, number>>;
}

await runBench<LaneReport>({
  script: import.meta.url,
  help,
  measure: async (options) => {
    const reports: LaneReport[] = [];
    for await (const subject of subjects(options)) reports.push(await measureSubject(subject, options));
    return reports;
  },
  textOf: ({ name, stepMs }) =>
    [name, ...Object.entries(stepMs).map(([what, ms]) => `  ${what}: ${ms.toFixed(2)} ms`)].join("\n"),
});

async function measureSubject(subject: Subject, { rounds, threads }: BenchOptions): Promise<LaneReport> {
  const { name, config, weights, forms } = subject;
  const options = { config, weights, forms, threads, adapterCountMax: 2, pairsAdapters: true };
  const runner = await createGraphRunner(options);
  const adapterOf = (seed: number): LoadedAdapter => ({
    id: `${seed}`,
    revision: `${seed}`,
    ...toAdapterFeeds(config, createLoraAdapter(config, { rank: 8, seed })),
  });
  const [one, other] = [adapterOf(1), adapterOf(2)];
  const rows = (
    count: number,
    place: { length: number; capacity: number },
    adapter: LoadedAdapter | null = null,
  ): DecodingRows => filled(runner, count, place, adapter);
  const short = { length: 256, capacity: 320 };
  const cases: Readonly<Record<string, readonly DecodingRows[]>> = {
    "15 rows": [rows(15, short)],
    "and a long one": [rows(15, short), rows(1, { length: 1000, capacity: 1280 })],
    "and a long one, in one lane": [rows(16, { length: 256, capacity: 1280 })],
    "one adapter, 16 rows": [rows(16, short, one)],
    "two adapters, 8 rows each": [rows(8, short, one), rows(8, short, other)],
    "one adapter, 8 rows": [rows(8, short, one)],
  };
  const stepMs: Record<string, number> = {};
  for (let round = 0; round < 4 * rounds; round++) {
    for (const [what, lanes] of Object.entries(cases))
      stepMs[what] = Math.min(stepMs[what] ?? Infinity, await decodeMs(runner, lanes));
  }
  await runner.close();
  return { name, stepMs };
}

function filled(
  runner: ModelRunner,
  count: number,
  { length, capacity }: { readonly length: number; readonly capacity: number },
  adapter: LoadedAdapter | null,
): DecodingRows {
  const lane = new KvLane(runner.shape);
  lane.reshape(count, capacity);
  for (let slot = 0; slot < count; slot++) lane.advance(lane.takeSlot(), length);
  // Fills the cache with values. The system maps all unwritten memory to a single page of zeros, which would always be
  // in the processor's nearest cache.
  for (let layer = 0; layer < runner.shape.caches.length; layer++) {
    for (const slab of [lane.keys(layer, 0, count), lane.values(layer, 0, count)]) slab.fill(0.01);
  }
  return { lane, adapter, tokenIds: Array.from({ length: count }, (_, row) => row + 1) };
}

/**
 * Decodes one token for each row of one lane or of two lanes in one call, then removes the tokens again. Returns the
 * milliseconds.
 */
async function decodeMs(runner: ModelRunner, lanes: readonly DecodingRows[]): Promise<number> {
  const [one, other] = lanes;
  const startMs = systemClock.monotonicMs();
  if (other === undefined) await runner.decode(one.lane, one.adapter, one.tokenIds);
  else await runner.decodePair([one, other]);
  const ms = systemClock.monotonicMs() - startMs;
  for (const { lane } of lanes) lane.lengths.forEach((_, slot) => lane.advance(slot, -1));
  return ms;
}
