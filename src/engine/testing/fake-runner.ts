// A runner for tests: the next token's scores are a hash of the whole history, which it reads back from the cache. So a
// slot that was moved, copied or grown wrongly changes the tokens. Computes nothing that resembles a model.
import { assert } from "../../domain/assert.ts";
import type { AdapterReference } from "../../domain/generation.ts";
import { ServiceError } from "../../domain/service-error.ts";
import type { KvLane } from "../cache/kv-lane.ts";
import type { LoadedAdapter, ModelRunner, ModelShape, PromptPart } from "../model-runner.ts";

export const fakeShape: ModelShape = {
  layerCount: 2,
  kvHeadCount: 2,
  headSize: 2,
  vocabularySize: 64,
  contextLength: 512,
};

/** The scores after a history; tests compute from it what an engine must tell. */
export function fakeLogits(history: readonly number[], adapterId: string | null): Float32Array {
  let state = Array.from(adapterId ?? "").reduce((hash, letter) => mix(hash, letter.codePointAt(0) ?? 0), 17);
  for (const token of history) state = mix(state, token);
  return Float32Array.from({ length: fakeShape.vocabularySize }, (_, id) => (mix(state, id) % 4096) / 512);
}

export class FakeRunner implements ModelRunner {
  readonly shape = fakeShape;
  /** The number of rows of each call, for tests that look at batches. */
  readonly prefillSizes: number[] = [];
  readonly decodeSizes: number[] = [];
  readonly droppedIds: string[] = [];
  /** When set, every score is not a number. */
  isBroken = false;

  loadAdapter(reference: AdapterReference): LoadedAdapter {
    if (reference.folder === "missing") {
      throw new ServiceError({ code: "not_found", message: "There is no such adapter." });
    }
    return { id: reference.id };
  }

  dropAdapter(id: string): void {
    this.droppedIds.push(id);
  }

  prefill(lane: KvLane, parts: readonly PromptPart[]): Promise<Float32Array> {
    this.prefillSizes.push(parts.length);
    for (const { slot, tokenIds } of parts) for (const id of tokenIds) this.#append(lane, slot, id);
    return Promise.resolve(
      this.#scores(
        lane,
        parts.map(({ slot }) => slot),
      ),
    );
  }

  decode(lane: KvLane, tokenIds: readonly number[]): Promise<Float32Array> {
    this.decodeSizes.push(tokenIds.length);
    tokenIds.forEach((id, slot) => this.#append(lane, slot, id));
    return Promise.resolve(
      this.#scores(
        lane,
        tokenIds.map((_, slot) => slot),
      ),
    );
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #append(lane: KvLane, slot: number, id: number): void {
    const { layerCount, kvHeadCount, headSize } = this.shape;
    for (let layer = 0; layer < layerCount; layer++) {
      const keys = new Float32Array(kvHeadCount * headSize).fill(id + layer);
      lane.write(layer, slot, 0, 1, { keys, values: keys.map((value) => -value), positionCount: 1 });
    }
    lane.advance(slot, 1);
  }

  #scores(lane: KvLane, slots: readonly number[]): Float32Array {
    const { vocabularySize } = this.shape;
    const scores = new Float32Array(slots.length * vocabularySize);
    slots.forEach((slot, row) => {
      scores.set(fakeLogits(this.#history(lane, slot), lane.adapter?.id ?? null), row * vocabularySize);
    });
    return this.isBroken ? scores.fill(NaN) : scores;
  }

  /** Reads a slot's tokens back, and checks that all layers, heads and values say the same. */
  #history(lane: KvLane, slot: number): readonly number[] {
    const { layerCount, kvHeadCount, headSize } = this.shape;
    const first = Array.from(lane.keys(0, slot, 1).subarray(0, lane.lengths[slot] * headSize));
    const history = first.filter((_, index) => index % headSize === 0);
    for (let layer = 0; layer < layerCount; layer++) {
      for (let head = 0; head < kvHeadCount; head++) {
        history.forEach((token, position) => {
          const place = (head * lane.capacity + position) * headSize;
          assert(lane.keys(layer, slot, 1)[place] === token + layer, "keys are where they belong");
          assert(lane.values(layer, slot, 1)[place + 1] === -token - layer, "values are where they belong");
        });
      }
    }
    return history;
  }
}

function mix(state: number, value: number): number {
  let hash = Math.imul(state ^ (value + 0x9e37), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
