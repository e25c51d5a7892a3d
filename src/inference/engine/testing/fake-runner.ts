// A fake runner for tests. The next token's scores are a hash of the whole history, which the runner reads back from
// the cache. A slot that was moved, copied or grown wrongly therefore changes the tokens.
import { assert, present } from "../../../base/domain/assert.ts";
import type { AdapterReference } from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { KvLane } from "../cache/kv-lane.ts";
import type { DecodingRows, LoadedAdapter, ModelRunner, PromptPart } from "../model-runner.ts";
import type { ModelShape } from "../model-shape.ts";

export const fakeShape: ModelShape = {
  caches: [
    { kvHeadCount: 2, headSize: 2 },
    { kvHeadCount: 1, headSize: 4 },
  ],
  states: [],
  vocabularySize: 64,
  contextLength: 512,
};

/**
 * Returns the scores after a history, with an adapter of this revision. Tests compute expected answers with this
 * function.
 */
export function fakeLogits(history: readonly number[], revision: string | null): Float32Array {
  let state = Array.from(revision ?? "").reduce((hash, letter) => mix(hash, letter.codePointAt(0) ?? 0), 17);
  for (const token of history) state = mix(state, token);
  return Float32Array.from({ length: fakeShape.vocabularySize }, (_, id) => (mix(state, id) % 4096) / 512);
}

/** States of a fake runner that keeps states: the number of tokens, and their hash in two halves. */
const fakeStates = [
  { kind: "inputs", dims: [1, 1] },
  { kind: "inputs", dims: [2, 1] },
] as const;

export class FakeRunner implements ModelRunner {
  readonly shape: ModelShape;
  readonly hiddenSize = fakeShape.vocabularySize;
  /** Number of parts in each prefill call. Together with the following lists, this shows how requests were batched. */
  readonly prefillSizes: number[] = [];
  readonly decodeSizes: number[] = [];
  /** Numbers of rows in both lanes, for each call that two lanes shared. */
  readonly pairSizes: (readonly number[])[] = [];
  /** Numbers of tokens of all rows, for each call with drafts. */
  readonly draftSizes: (readonly number[])[] = [];
  readonly droppedIds: string[] = [];
  readonly readyIds: string[] = [];
  /** For each slot of a lane's latest call with drafts, the states after each token. */
  readonly #draftStates = new WeakMap<KvLane, readonly (readonly Float32Array[])[]>();
  /** If true, all scores are NaN. */
  isBroken = false;

  constructor({ hasStates = false }: { readonly hasStates?: boolean } = {}) {
    this.shape = hasStates ? { ...fakeShape, states: fakeStates } : fakeShape;
  }

  loadAdapter(reference: AdapterReference): LoadedAdapter {
    if (reference.folder === "missing") {
      throw new ServiceError({ code: "not_found", message: "There is no such adapter." });
    }
    return { id: reference.id, revision: reference.hash ?? reference.id, rank: 1, feeds: {} };
  }

  prepareAdapter(): Promise<void> | null {
    return null;
  }

  warmUp({ id }: LoadedAdapter): Promise<void> {
    this.readyIds.push(id);
    return Promise.resolve();
  }

  dropAdapter(id: string): void {
    this.droppedIds.push(id);
  }

  prefill(
    lane: KvLane,
    adapter: LoadedAdapter | null,
    parts: readonly PromptPart[],
  ): Promise<readonly Float32Array[]> {
    this.prefillSizes.push(parts.length);
    const { vocabularySize } = this.shape;
    const results = parts.map(({ slot, tokenIds, logits }) => {
      const rows = tokenIds.map((id) => {
        this.#append(lane, slot, id);
        return this.#scores(lane, adapter, slot);
      });
      // For `last-hidden`, returns the scores too: the fake hidden state is equal to them.
      const wanted = logits === "all" ? rows : logits === "none" ? [] : rows.slice(-1);
      const joined = new Float32Array(wanted.length * vocabularySize);
      wanted.forEach((scores_V, row) => joined.set(scores_V, row * vocabularySize));
      return joined;
    });
    return Promise.resolve(results);
  }

  decode(lane: KvLane, adapter: LoadedAdapter | null, tokenIds: readonly number[]): Promise<Float32Array> {
    this.decodeSizes.push(tokenIds.length);
    const { vocabularySize } = this.shape;
    const logits_BV = new Float32Array(tokenIds.length * vocabularySize);
    tokenIds.forEach((id, slot) => {
      this.#append(lane, slot, id);
      logits_BV.set(this.#scores(lane, adapter, slot), slot * vocabularySize);
    });
    return Promise.resolve(logits_BV);
  }

  decodeDrafts(
    lane: KvLane,
    adapter: LoadedAdapter | null,
    tokenIds: readonly (readonly number[])[],
  ): Promise<readonly Float32Array[]> {
    this.draftSizes.push(tokenIds.map(({ length }) => length));
    const { vocabularySize } = this.shape;
    const results = tokenIds.map((ids, slot) => {
      const logits_TV = new Float32Array(ids.length * vocabularySize);
      const states: Float32Array[] = [];
      for (const [row, id] of ids.entries()) {
        this.#append(lane, slot, id);
        logits_TV.set(this.#scores(lane, adapter, slot), row * vocabularySize);
        states.push(lane.states.read(slot));
      }
      lane.advance(slot, 1 - ids.length);
      lane.states.write(slot, states[0]);
      return { logits_TV, states };
    });
    this.#draftStates.set(
      lane,
      results.map(({ states }) => states),
    );
    return Promise.resolve(results.map(({ logits_TV }) => logits_TV));
  }

  acceptDraft(lane: KvLane, slot: number, count: number): Promise<void> {
    lane.advance(slot, count);
    lane.states.write(slot, present(this.#draftStates.get(lane), "a call with drafts")[slot][count]);
    return Promise.resolve();
  }

  isReadyForDrafts(): boolean {
    return true;
  }

  async decodePair(
    pair: readonly [DecodingRows, DecodingRows],
  ): Promise<readonly [Float32Array, Float32Array]> {
    this.pairSizes.push(pair.map(({ tokenIds }) => tokenIds.length));
    const [one, other] = pair.map(({ lane, adapter, tokenIds }) => this.decode(lane, adapter, tokenIds));
    return [await one, await other];
  }

  pairs(): boolean {
    return true;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #append(lane: KvLane, slot: number, id: number): void {
    for (const [layer, { kvHeadCount, headSize }] of this.shape.caches.entries()) {
      const keys = new Float32Array(kvHeadCount * headSize).fill(id + layer);
      lane.write(
        layer,
        slot,
        { row: 0, start: 0, count: 1 },
        { keys, values: keys.map((value) => -value), positionCount: 1 },
      );
    }
    if (this.shape.states.length > 0) {
      const [count] = lane.states.view(0, slot, 1);
      const hash = mix(stateHash(lane, slot), id);
      lane.states.view(0, slot, 1)[0] = count + 1;
      lane.states.view(1, slot, 1).set([hash >>> 16, hash & 0xffff]);
    }
    lane.advance(slot, 1);
  }

  /** Returns the scores for the token after a slot's contents. */
  #scores(lane: KvLane, adapter: LoadedAdapter | null, slot: number): Float32Array {
    const scores_V = fakeLogits(this.#history(lane, slot), adapter?.revision ?? null);
    return this.isBroken ? scores_V.fill(NaN) : scores_V;
  }

  /** Reads the tokens in a slot back from its keys and values. Checks that all layers and heads agree. */
  #history(lane: KvLane, slot: number): readonly number[] {
    const { headSize: firstSize } = this.shape.caches[0];
    const first = Array.from(lane.keys(0, slot, 1).subarray(0, lane.lengths[slot] * firstSize));
    const history = first.filter((_, index) => index % firstSize === 0);
    for (const [layer, { kvHeadCount, headSize }] of this.shape.caches.entries()) {
      for (let head = 0; head < kvHeadCount; head++) {
        history.forEach((token, position) => {
          const place = (head * lane.capacity + position) * headSize;
          assert(lane.keys(layer, slot, 1)[place] === token + layer, "keys are where they belong");
          assert(lane.values(layer, slot, 1)[place + 1] === -token - layer, "values are where they belong");
        });
      }
    }
    if (this.shape.states.length > 0) {
      assert(lane.states.view(0, slot, 1)[0] === history.length, "the state counts the slot's tokens");
      const hash = history.reduce((state, token) => mix(state, token), 0);
      assert(stateHash(lane, slot) === hash, "the state is that after the slot's tokens");
    }
    return history;
  }
}

function stateHash(lane: KvLane, slot: number): number {
  const [high, low] = lane.states.view(1, slot, 1);
  return ((high << 16) | low) >>> 0;
}

function mix(state: number, value: number): number {
  let hash = Math.imul(state ^ (value + 0x9e37), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
