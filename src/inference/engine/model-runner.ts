// What the engine's loop needs of a model: scores for the next tokens of some rows, with their keys and values kept in a
// lane of the cache. Says nothing of how they are computed; knows nothing of requests.
import type { AdapterReference } from "../../base/domain/generation.ts";
import type { Tensor } from "../../lib/graph/tensor.ts";
import type { KvLane } from "./cache/kv-lane.ts";
import type { ModelShape } from "./model-shape.ts";

/** Tokens of one prompt, at least one, to stand at `lane.lengths[slot]` and after. */
export interface PromptPart {
  readonly slot: number;
  readonly tokenIds: readonly number[];
  /** After which of its tokens scores are wanted: the last one, every one, or none; and of the last one what they are made of. */
  readonly logits: "last" | "all" | "none" | "last-hidden";
}

/** An adapter in memory. */
export interface LoadedAdapter {
  readonly id: string;
  /** The same for the same matrices alone, whatever id they were loaded under. */
  readonly revision: string;
  readonly rank: number;
  /** Its matrices by the names of a graph's inputs; empty where a runner needs none. */
  readonly feeds: Readonly<Record<string, Tensor>>;
}

/** Rows of a lane that get a token, its first ones. */
export interface DecodingRows {
  readonly lane: KvLane;
  /** As for {@link ModelRunner.prefill}. */
  readonly adapter: LoadedAdapter | null;
  /** One for each. */
  readonly tokenIds: readonly number[];
}

export interface ModelRunner {
  readonly shape: ModelShape;
  /** What the model computes of a token before it has scores: so many numbers. */
  readonly hiddenSize: number;
  /**
   * An adapter, from its folder when it is not in memory. Whoever holds it may go on using it after it was dropped.
   *
   * @throws ServiceError when the folder does not hold an adapter of this model; only the requests that name it fail
   */
  loadAdapter(reference: AdapterReference): LoadedAdapter;
  /**
   * Has an adapter read while steps go on, so that {@link ModelRunner.loadAdapter} finds it in memory.
   *
   * @returns what resolves then, and rejects as that throws; null where nobody need wait: it is there, or is read when it is
   *   loaded
   */
  prepareAdapter(reference: AdapterReference): Promise<void> | null;
  /** Makes what the first call with the adapter would wait for; other calls wait meanwhile. */
  makeReady(adapter: LoadedAdapter): Promise<void>;
  /** Forgets an adapter; it would be read again. */
  dropAdapter(id: string): void;
  /**
   * Computes parts of prompts, first or later ones, each of another slot, and writes their keys and values into the lane,
   * whose lengths grow. The numbers of a part do not depend on which parts are computed with it.
   *
   * @param adapter with which everything in this lane was and will be computed; null is the base model
   * @returns for every part, in order, its rows of next-token scores [rows, V]: one for "last", one for each token for
   * "all", none for "none"; for "last-hidden" what the output projection takes of its last token, [D]
   */
  prefill(
    lane: KvLane,
    adapter: LoadedAdapter | null,
    parts: readonly PromptPart[],
  ): Promise<readonly Float32Array[]>;
  /**
   * Computes one token for each of the first `tokenIds.length` slots and writes its keys and values; lengths grow by 1.
   * The numbers of a row do not depend on the other rows.
   *
   * @param adapter as for {@link ModelRunner.prefill}
   * @returns logits_BV, row i for slot i
   */
  decode(lane: KvLane, adapter: LoadedAdapter | null, tokenIds: readonly number[]): Promise<Float32Array>;
  /**
   * As {@link ModelRunner.decode}, with tokens that may come next behind the one of each slot: scores after every token, of
   * the numbers that decoding one after the other would give. Keys and values of all are written, and lengths grow by 1: by
   * however many more come true the caller lets them grow (`KvLane.advance`).
   *
   * @param tokenIds for each of the first slots at least one; there must be room for all
   * @returns for every slot its rows of scores [tokens, V]
   */
  decodeDrafts(
    lane: KvLane,
    adapter: LoadedAdapter | null,
    tokenIds: readonly (readonly number[])[],
  ): Promise<readonly Float32Array[]>;
  /** Whether {@link ModelRunner.decodeDrafts} could run at once; where it could not, that is seen to in a quiet moment. */
  isReadyForDrafts(adapter: LoadedAdapter | null): boolean;
  /**
   * As {@link ModelRunner.decode} for each of two lanes, in one call where that is faster: weights are read once.
   *
   * @returns logits_BV of each
   */
  decodePair(pair: readonly [DecodingRows, DecodingRows]): Promise<readonly [Float32Array, Float32Array]>;
  /** Whether {@link ModelRunner.decodePair} takes less time than one call for each, and can run at once. */
  pairs(one: LoadedAdapter | null, other: LoadedAdapter | null): boolean;
  /** Frees the model. */
  close(): Promise<void>;
}
