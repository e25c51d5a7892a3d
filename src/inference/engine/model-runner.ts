// Interface between the engine's loop and a model. The model computes logits for the next tokens of rows, whose keys
// and values are in a lane of the cache. The interface knows no requests, and does not depend on how logits are
// computed.
import type { AdapterReference } from "../../base/domain/generation.ts";
import type { Tensor } from "../../lib/graph/tensor.ts";
import type { KvLane } from "./cache/kv-lane.ts";
import type { ModelShape } from "./model-shape.ts";

/** Consecutive tokens of a prompt, at least one. Their positions start at `lane.lengths[slot]`. */
export interface PromptPart {
  readonly slot: number;
  readonly tokenIds: readonly number[];
  /**
   * Tokens for which logits are returned: the last token, all tokens, or none. With `last-hidden`, the last token's
   * hidden state is returned instead of logits.
   */
  readonly logits: "last" | "all" | "none" | "last-hidden";
}

/** An adapter in memory. */
export interface LoadedAdapter {
  readonly id: string;
  /**
   * Revision of the matrices. Two adapters have the same revision exactly if their matrices are equal, even if their
   * ids differ.
   */
  readonly revision: string;
  readonly rank: number;
  /** LoRA matrices by the names of the graph's inputs; empty if the runner needs none. */
  readonly feeds: Readonly<Record<string, Tensor>>;
}

/** Input of a decoding call: the first rows of a lane, with one token for each. */
export interface DecodingRows {
  readonly lane: KvLane;
  /** Adapter of the rows; null for the base model. */
  readonly adapter: LoadedAdapter | null;
  /** Token ids, one per row. */
  readonly tokenIds: readonly number[];
}

export interface ModelRunner {
  readonly shape: ModelShape;
  /** Size of the hidden state, from which a token's logits are computed. */
  readonly hiddenSize: number;
  /**
   * Returns an adapter. If it is not in memory, reads it from its folder and blocks meanwhile. Callers may continue to
   * use the adapter after it was dropped.
   *
   * @throws ServiceError if the folder does not hold an adapter of this model; only the requests that name the adapter
   * fail
   */
  loadAdapter(reference: AdapterReference): LoadedAdapter;
  /**
   * Reads an adapter while steps continue, so that {@link ModelRunner.loadAdapter} will find it in memory.
   *
   * @returns a promise that resolves when the adapter is in memory, and rejects with the error of `loadAdapter`. Null
   * if there is nothing to wait for: either the adapter is already in memory, or only `loadAdapter` reads adapters
   */
  prepareAdapter(reference: AdapterReference): Promise<void> | null;
  /**
   * Prepares everything that the first call with the adapter would otherwise wait for. Calls that are made meanwhile
   * wait.
   */
  warmUp(adapter: LoadedAdapter): Promise<void>;
  /** Drops an adapter from memory. The next use of the adapter reads it again. */
  dropAdapter(id: string): void;
  /**
   * Computes parts of prompts, each in a different slot, and writes their keys and values into the lane. The lengths of
   * these slots grow. The results for a part do not depend on the other parts of the call.
   *
   * @param adapter the lane's adapter, the same for all calls with this lane; null for the base model
   * @returns for each part, in order, its rows of next-token logits [rows, V]: one for "last", one per token for "all",
   * none for "none"; for "last-hidden" the input of the output projection for its last token, [D]
   */
  prefill(
    lane: KvLane,
    adapter: LoadedAdapter | null,
    parts: readonly PromptPart[],
  ): Promise<readonly Float32Array[]>;
  /**
   * Computes one token for each of the first `tokenIds.length` slots and writes its keys and values. The lengths of
   * these slots grow by 1. The results for a row do not depend on the other rows.
   *
   * @param adapter as for {@link ModelRunner.prefill}
   * @returns logits_BV, row i for slot i
   */
  decode(lane: KvLane, adapter: LoadedAdapter | null, tokenIds: readonly number[]): Promise<Float32Array>;
  /**
   * Like {@link ModelRunner.decode}, but also computes draft tokens after the next token of each slot. The logits equal
   * those of decoding one token at a time. Lengths grow by only 1, until {@link ModelRunner.acceptDraft} adds the
   * accepted draft tokens of a slot.
   *
   * @param tokenIds for each of the first slots, at least one token; there must be room for all tokens
   * @returns for each of these slots, its rows of logits [tokens, V]
   */
  decodeDrafts(
    lane: KvLane,
    adapter: LoadedAdapter | null,
    tokenIds: readonly (readonly number[])[],
  ): Promise<readonly Float32Array[]>;
  /**
   * Adds the first `count` draft tokens of a slot to its contents, and writes the slot's states after them. Must be
   * called once after {@link ModelRunner.decodeDrafts}, before slots move, even if no draft token is accepted.
   */
  acceptDraft(lane: KvLane, slot: number, count: number): Promise<void>;
  /**
   * True if {@link ModelRunner.decodeDrafts} can run without delay. If false, the graph that it needs will be prepared
   * in idle time.
   */
  isReadyForDrafts(adapter: LoadedAdapter | null): boolean;
  /**
   * Decodes the rows of two lanes, each as {@link ModelRunner.decode} does. Uses one call if that is faster, because
   * the weights are then read only once.
   *
   * @returns logits_BV of each lane
   */
  decodePair(pair: readonly [DecodingRows, DecodingRows]): Promise<readonly [Float32Array, Float32Array]>;
  /**
   * True if {@link ModelRunner.decodePair} is faster than two calls for lanes with these adapters, and can run without
   * delay.
   */
  pairs(one: LoadedAdapter | null, other: LoadedAdapter | null): boolean;
  /** Frees the model and its memory. */
  close(): Promise<void>;
}
