// Transfer of a computed prompt (its KV cache) between engines: which data is transferred, when another engine may
// reuse it, and how it is read and written in chunks. Other modules define how the bytes are sent between servers.

/** How a prompt's keys and values were computed. Another engine may reuse them only if all these fields equal its own. */
export interface PromptOrigin {
  /** Hex SHA-256 of the base model's weights. */
  readonly weights: string;
  /** Numerical precision of the computation, such as `float32`. */
  readonly precision: string;
  /** Build of the engine; different builds may round differently. */
  readonly build: string;
  /** Hex SHA-256 of the adapter's files; null for the base model itself. */
  readonly adapter: string | null;
}

/** Address from which other servers can fetch a held prompt. */
export interface HeldPlace {
  readonly host: string;
  readonly port: number;
  readonly handle: string;
  /** Id of the server's current start. Held prompts are lost on a restart, which changes this id. */
  readonly engineId: string;
}

/** Parameters of a request whose prompt is transferred between servers. */
export interface PromptPassing {
  /** True to hold the prompt for another server. */
  readonly isHeld: boolean;
  /** Server that holds the prompt; null if this server computes it. */
  readonly from: Omit<HeldPlace, "engineId"> | null;
  /** All parameters as sent, including unknown ones. */
  readonly parameters: PassedParameters;
}

/** Parameters of a prompt transfer that the servers behind an engine exchange, with those servers' field names. */
export type PassedParameters = Readonly<Record<string, unknown>>;

/** Request to an engine to hold a computed prompt for another engine. */
export interface PromptHold {
  /**
   * Handle with which the prompt can be fetched once. It must be unguessable, because the handle and the owner
   * together grant access.
   */
  readonly handle: string;
  /** Time in seconds after which a prompt that was not fetched is dropped. */
  readonly seconds: number;
  readonly origin: PromptOrigin;
}

/** Dimensions that determine the memory layout of keys, values, states and logits. */
export interface PromptShape {
  readonly layerCount: number;
  readonly kvHeadCount: number;
  readonly headSize: number;
  /** Number of float values in a sequence's states; 0 if the model has none. */
  readonly stateSize: number;
  readonly vocabularySize: number;
}

/**
 * A held prompt. Its bytes are little-endian float32: blocks of keys and values, each [layer, keys then values, kv
 * head, position, head size], followed by the states and the logits after the last token, [state] and [vocabulary].
 */
export interface HeldPrompt {
  readonly origin: PromptOrigin;
  readonly tokenIds: readonly number[];
  readonly shape: PromptShape;
  /** Number of positions in each block, in token order. Their sum is the number of tokens. */
  readonly blockPositions: readonly number[];
  readonly byteLength: number;
}

/** Prompts that an engine holds for other engines, and prompts that it receives from them. */
export interface PromptTransfers {
  /**
   * Takes the prompt with this handle: the caller reads it and then drops it.
   *
   * @param owner owner of the request that computed the prompt
   * @returns null if this owner has no such prompt: it was fetched, dropped, or never held
   */
  take(handle: string, owner: string): Promise<HeldPrompt | null>;
  /**
   * Returns a copy of `count` bytes of a taken prompt, starting at `offset`.
   *
   * @throws ServiceError `not_found` if the prompt was dropped
   */
  read(handle: string, offset: number, count: number): Promise<Uint8Array>;
  /**
   * Reserves memory for a prompt from another engine. Once all bytes are written, a request may refer to the prompt by
   * this id.
   *
   * @throws ServiceError `conflict` if the prompt's shape differs from the engine's, `overloaded` if there is not
   * enough memory
   */
  expect(id: string, prompt: HeldPrompt): Promise<void>;
  /** @throws ServiceError `not_found` if the prompt was dropped */
  write(id: string, offset: number, bytes: Uint8Array): Promise<void>;
  /** Drops a held or expected prompt; requests that already use it continue. Idempotent. */
  drop(id: string): Promise<void>;
}

/** Returns the number of float values of keys and values in blocks with these positions. */
export function blockValues(
  { layerCount, kvHeadCount, headSize }: Pick<PromptShape, "layerCount" | "kvHeadCount" | "headSize">,
  positionCount: number,
): number {
  return layerCount * 2 * kvHeadCount * headSize * positionCount;
}

/** Returns the size in bytes of a prompt with this many tokens, including the states and the logits after it. */
export function heldBytes(shape: PromptShape, tokenCount: number): number {
  const values = blockValues(shape, tokenCount) + shape.stateSize + shape.vocabularySize;
  return values * Float32Array.BYTES_PER_ELEMENT;
}
