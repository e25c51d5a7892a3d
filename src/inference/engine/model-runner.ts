// The engine loop's interface to a model: scores for the next tokens of some rows, whose keys and values stay in a
// lane of the cache. Independent of how they are computed; knows no requests.
import type { AdapterReference } from "../../base/domain/generation.ts";
import type { Tensor } from "../../lib/graph/tensor.ts";
import type { KvLane } from "./cache/kv-lane.ts";
import type { ModelShape } from "./model-shape.ts";

/** Consecutive tokens of one prompt, at least one, for the positions from `lane.lengths[slot]` on. */
export interface PromptPart {
  readonly slot: number;
  readonly tokenIds: readonly number[];
  /**
   * Tokens whose scores are wanted: the last one, all, or none; `last-hidden` asks for the last token's hidden state
   * instead.
   */
  readonly logits: "last" | "all" | "none" | "last-hidden";
}

/** An adapter in memory. */
export interface LoadedAdapter {
  readonly id: string;
  /** Equal exactly for equal matrices, under any id. */
  readonly revision: string;
  readonly rank: number;
  /** Matrices by the names of the graph's inputs; empty if a runner needs none. */
  readonly feeds: Readonly<Record<string, Tensor>>;
}

/** The first rows of a lane, which get one token each. */
export interface DecodingRows {
  readonly lane: KvLane;
  /** As for {@link ModelRunner.prefill}. */
  readonly adapter: LoadedAdapter | null;
  /** One per row. */
  readonly tokenIds: readonly number[];
}

export interface ModelRunner {
  readonly shape: ModelShape;
  /** Size of the hidden state from which a token's scores are computed. */
  readonly hiddenSize: number;
  /**
   * Returns an adapter, read from its folder unless it is in memory. Holders may keep using it after it was dropped.
   *
   * @throws ServiceError if the folder does not hold an adapter of this model; only the requests that name it fail
   */
  loadAdapter(reference: AdapterReference): LoadedAdapter;
  /**
   * Reads an adapter while steps continue, so that {@link ModelRunner.loadAdapter} finds it in memory.
   *
   * @returns a promise that resolves then, and rejects with the error of `loadAdapter`; null if there is nothing to
   * wait for: it is in memory, or `loadAdapter` reads it
   */
  prepareAdapter(reference: AdapterReference): Promise<void> | null;
  /** Prepares everything that the first call with the adapter would wait for; other calls wait meanwhile. */
  warmUp(adapter: LoadedAdapter): Promise<void>;
  /** Drops an adapter from memory; the next use reads it again. */
  dropAdapter(id: string): void;
  /**
   * Computes parts of prompts, first or later ones, each in another slot, and writes their keys and values into the
   * lane, whose lengths grow. The numbers of a part do not depend on the other parts of the call.
   *
   * @param adapter adapter of everything computed in this lane, before and after; null for the base model
   * @returns for each part, in order, its rows of next-token scores [rows, V]: one for "last", one per token for
   * "all", none for "none"; for "last-hidden" the input of the output projection for its last token, [D]
   */
  prefill(
    lane: KvLane,
    adapter: LoadedAdapter | null,
    parts: readonly PromptPart[],
  ): Promise<readonly Float32Array[]>;
  /**
   * Computes one token for each of the first `tokenIds.length` slots and writes its keys and values; lengths grow by
   * 1. The numbers of a row do not depend on the other rows.
   *
   * @param adapter as for {@link ModelRunner.prefill}
   * @returns logits_BV, row i for slot i
   */
  decode(lane: KvLane, adapter: LoadedAdapter | null, tokenIds: readonly number[]): Promise<Float32Array>;
  /**
   * Like {@link ModelRunner.decode}, with draft tokens after the next token of each slot: returns scores after every
   * token, equal to those of decoding one token at a time. Writes keys and values of all, but lengths grow by only 1:
   * the caller adds the accepted draft tokens (`KvLane.advance`).
   *
   * @param tokenIds at least one for each of the first slots; there must be room for all
   * @returns for every slot its rows of scores [tokens, V]
   */
  decodeDrafts(
    lane: KvLane,
    adapter: LoadedAdapter | null,
    tokenIds: readonly (readonly number[])[],
  ): Promise<readonly Float32Array[]>;
  /** True if {@link ModelRunner.decodeDrafts} can run without delay; if not, idle work prepares it. */
  isReadyForDrafts(adapter: LoadedAdapter | null): boolean;
  /**
   * Like {@link ModelRunner.decode} for each of two lanes, in one call if that is faster: weights are then read once.
   *
   * @returns logits_BV of each
   */
  decodePair(pair: readonly [DecodingRows, DecodingRows]): Promise<readonly [Float32Array, Float32Array]>;
  /** True if {@link ModelRunner.decodePair} is faster than two calls and can run without delay. */
  pairs(one: LoadedAdapter | null, other: LoadedAdapter | null): boolean;
  /** Frees the model. */
  close(): Promise<void>;
}
