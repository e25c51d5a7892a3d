// What the engine's loop needs of a model: scores for the next token of some rows, with their keys and values kept
// in a lane of the cache. Says nothing of graphs; knows nothing of requests.
import type { AdapterReference } from "../domain/generation.ts";
import type { KvLane } from "./cache/kv-lane.ts";

/** The numbers of a model that decide the sizes of the cache and of the scores. */
export interface ModelShape {
  readonly layerCount: number;
  readonly kvHeadCount: number;
  readonly headSize: number;
  readonly vocabularySize: number;
  /** Tokens in prompt and answer together. */
  readonly contextLength: number;
}

/** Tokens of one prompt, to stand at `lane.lengths[slot]` and after. */
export interface PromptPart {
  readonly slot: number;
  readonly tokenIds: readonly number[];
}

/** An adapter in memory; what it holds is the runner's own business. */
export interface LoadedAdapter {
  readonly id: string;
}

export interface ModelRunner {
  readonly shape: ModelShape;
  /**
   * An adapter, from its folder when it is not in memory. Whoever holds it may go on using it after it was dropped.
   *
   * @throws ServiceError when the folder does not hold an adapter of this model; only the requests that name it fail
   */
  loadAdapter(reference: AdapterReference): LoadedAdapter;
  /** Forgets an adapter; it would be read again. */
  dropAdapter(id: string): void;
  /**
   * Computes parts of prompts together and writes their keys and values into the lane, whose lengths grow.
   * Either every part starts at position 0, or there is one part.
   *
   * @returns logits_BV of the last token of every part, in the order of the parts
   */
  prefill(lane: KvLane, parts: readonly PromptPart[]): Promise<Float32Array>;
  /**
   * Computes one token for each of the first `tokenIds.length` slots and writes its keys and values; lengths grow by 1.
   *
   * @returns logits_BV, row i for slot i; valid until the next call
   */
  decode(lane: KvLane, tokenIds: readonly number[]): Promise<Float32Array>;
  /** Frees the model. */
  close(): Promise<void>;
}
