// Wraps a model runner and measures how much wall time and processor time its calls take in this process. The rest of a
// run's time is the cost of the code around the model.
import type { AdapterReference } from "../../src/base/domain/generation.ts";
import { systemClock } from "../../src/base/domain/clock.ts";
import type { KvLane } from "../../src/inference/engine/cache/kv-lane.ts";
import type {
  DecodingRows,
  LoadedAdapter,
  ModelRunner,
  PromptPart,
} from "../../src/inference/engine/model-runner.ts";
import type { ModelShape } from "../../src/inference/engine/model-shape.ts";

export class TimedRunner implements ModelRunner {
  readonly shape: ModelShape;
  readonly hiddenSize: number;
  readonly #runner: ModelRunner;
  /** Wall time of all calls so far. */
  wallMs = 0;
  cpuMs = 0;

  constructor(runner: ModelRunner) {
    this.#runner = runner;
    this.shape = runner.shape;
    this.hiddenSize = runner.hiddenSize;
  }

  loadAdapter(reference: AdapterReference): LoadedAdapter {
    return this.#runner.loadAdapter(reference);
  }

  prepareAdapter(reference: AdapterReference): Promise<void> | null {
    return this.#runner.prepareAdapter(reference);
  }

  warmUp(adapter: LoadedAdapter): Promise<void> {
    return this.#runner.warmUp(adapter);
  }

  dropAdapter(id: string): void {
    this.#runner.dropAdapter(id);
  }

  prefill(
    lane: KvLane,
    adapter: LoadedAdapter | null,
    parts: readonly PromptPart[],
  ): Promise<readonly Float32Array[]> {
    return this.#time(() => this.#runner.prefill(lane, adapter, parts));
  }

  decode(lane: KvLane, adapter: LoadedAdapter | null, tokenIds: readonly number[]): Promise<Float32Array> {
    return this.#time(() => this.#runner.decode(lane, adapter, tokenIds));
  }

  decodeDrafts(
    lane: KvLane,
    adapter: LoadedAdapter | null,
    tokenIds: readonly (readonly number[])[],
  ): Promise<readonly Float32Array[]> {
    return this.#time(() => this.#runner.decodeDrafts(lane, adapter, tokenIds));
  }

  acceptDraft(lane: KvLane, slot: number, count: number): Promise<void> {
    return this.#time(() => this.#runner.acceptDraft(lane, slot, count));
  }

  isReadyForDrafts(adapter: LoadedAdapter | null): boolean {
    return this.#runner.isReadyForDrafts(adapter);
  }

  decodePair(pair: readonly [DecodingRows, DecodingRows]): Promise<readonly [Float32Array, Float32Array]> {
    return this.#time(() => this.#runner.decodePair(pair));
  }

  pairs(one: LoadedAdapter | null, other: LoadedAdapter | null): boolean {
    return this.#runner.pairs(one, other);
  }

  close(): Promise<void> {
    return this.#runner.close();
  }

  async #time<Result>(call: () => Promise<Result>): Promise<Result> {
    const startMs = systemClock.monotonicMs();
    const before = process.cpuUsage();
    try {
      return await call();
    } finally {
      const { user, system } = process.cpuUsage(before);
      this.cpuMs += (user + system) / 1000;
      this.wallMs += systemClock.monotonicMs() - startMs;
    }
  }
}
