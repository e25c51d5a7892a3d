// Transfer of a computed prompt (its KV cache) between engines: the transferred data, the conditions under which
// another engine may use it, and the functions that read and write it in chunks. Other modules send the bytes between
// servers.

/**
 * Description of how a prompt's keys and values were computed. Another engine may use them only if all these fields are
 * equal to its own.
 */
export interface PromptOrigin {
  /** SHA-256 of the base model's weights in hexadecimal form. */
  readonly weights: string;
  /** Numerical precision in which the prompt was computed, such as `float32`. */
  readonly precision: string;
  /** Build of the engine. Different builds may round differently. */
  readonly build: string;
  /** SHA-256 of the adapter's files in hexadecimal form; null for the base model itself. */
  readonly adapter: string | null;
}

/** Address at which other servers can fetch a computed prompt that this server holds for them. */
export interface HeldPlace {
  readonly host: string;
  readonly port: number;
  readonly handle: string;
  /** Id of the server's current start. A restart changes this id, because it loses the held prompts. */
  readonly engineId: string;
}

/** Parameters with which a request asks for a transfer of its prompt between servers. */
export interface PromptPassing {
  /** True if this server should hold the prompt for another server. */
  readonly isHeld: boolean;
  /** Server from which to fetch the prompt; null if this server computes it. */
  readonly from: Omit<HeldPlace, "engineId"> | null;
  /** All parameters as the client sent them, even unknown ones. */
  readonly parameters: PassedParameters;
}

/** Parameters of a prompt transfer between vLLM servers, with vLLM's field names. */
export type PassedParameters = Readonly<Record<string, unknown>>;

/** Asks an engine to hold a computed prompt for another engine. */
export interface PromptHold {
  /**
   * Handle with which another engine can fetch the prompt, once. It must be impossible to guess, because handle and
   * owner together grant access.
   */
  readonly handle: string;
  /** Time in seconds after which the engine drops the prompt if nobody has fetched it. */
  readonly seconds: number;
  readonly origin: PromptOrigin;
}

/** Sizes that determine the layout of keys, values, states and logits in memory. */
export interface PromptShape {
  /** Number of layers with keys and values. */
  readonly layerCount: number;
  /** Number of floats in the keys and values of one position, in all layers together. */
  readonly positionSize: number;
  /** Number of floats in a sequence's states; 0 if the model has no states. */
  readonly stateSize: number;
  readonly vocabularySize: number;
}

/**
 * A prompt that an engine holds. Its bytes are little-endian float32: blocks of keys and values, then the states
 * [state], then the logits after the last token [vocabulary]. A block is [layer, keys then values, kv head, position,
 * head size]; the number and size of heads may differ between layers.
 */
export interface HeldPrompt {
  readonly origin: PromptOrigin;
  readonly tokenIds: readonly number[];
  readonly shape: PromptShape;
  /** Number of positions in each block, in the order of the tokens. The sum is the number of tokens. */
  readonly blockPositions: readonly number[];
  readonly byteLength: number;
}

/** Functions with which an engine holds prompts for other engines, and receives prompts from them. */
export interface PromptTransfers {
  /**
   * Takes the held prompt with this handle. The caller reads the prompt, and then must drop it.
   *
   * @param owner owner of the request that computed the prompt
   * @returns null if this owner has no such prompt: it was fetched, dropped, or never held
   */
  take(handle: string, owner: string): Promise<HeldPrompt | null>;
  /**
   * Returns a copy of `count` bytes of a taken prompt, beginning at `offset`.
   *
   * @throws ServiceError `not_found` if the prompt was dropped
   */
  read(handle: string, offset: number, count: number): Promise<Uint8Array>;
  /**
   * Reserves memory for a prompt that comes from another engine. Once all its bytes are written, a request may refer to
   * the prompt by this id.
   *
   * @throws ServiceError `conflict` if the prompt's shape differs from the engine's, `overloaded` if there is not
   * enough memory
   */
  expect(id: string, prompt: HeldPrompt): Promise<void>;
  /**
   * Writes bytes of an expected prompt.
   *
   * @throws ServiceError `not_found` if the prompt was dropped
   */
  write(id: string, offset: number, bytes: Uint8Array): Promise<void>;
  /** Drops a held or expected prompt. Requests that already use it continue. Idempotent. */
  drop(id: string): Promise<void>;
}

/** Returns the number of floats that the keys and values of this many positions take. */
export function blockValues(
  { positionSize }: Pick<PromptShape, "positionSize">,
  positionCount: number,
): number {
  return positionSize * positionCount;
}

/** Returns the number of bytes that a held prompt takes, including the states and the logits after its last token. */
export function heldBytes(shape: PromptShape, tokenCount: number): number {
  const values = blockValues(shape, tokenCount) + shape.stateSize + shape.vocabularySize;
  return values * Float32Array.BYTES_PER_ELEMENT;
}
