// A prompt that one engine computes and another one answers: what is held of it, what says whether it fits, and how its
// bytes are read and written piece by piece. How they travel between servers is not said here.

/** What made the keys and values of a prompt. Another engine may go on with them where all of it is the same. */
export interface PromptOrigin {
  /** Hex SHA-256 of the base model's weights. */
  readonly weights: string;
  /** In which the engine computes, such as `float32`. */
  readonly precision: string;
  /** Of the engine: another build may round differently. */
  readonly build: string;
  /** Hex SHA-256 of the adapter's files; null for the base model itself. */
  readonly adapter: string | null;
}

/** Where another server finds a prompt that is held. */
export interface HeldPlace {
  readonly host: string;
  readonly port: number;
  readonly handle: string;
  /** Of the server's start that holds it: it is lost with that. */
  readonly engineId: string;
}

/** What a request asks for that a prompt passes from one server to another. */
export interface PromptPassing {
  /** Whether its prompt is to be held for another server. */
  readonly isHeld: boolean;
  /** Which server holds its prompt; null where it is to be computed here. */
  readonly from: Omit<HeldPlace, "engineId"> | null;
  /** All that was sent, whatever is not known here included. */
  readonly parameters: PassedParameters;
}

/** What the servers behind an engine say to each other of a prompt that passes between them, as they spell it. */
export type PassedParameters = Readonly<Record<string, unknown>>;

/** Asks an engine to hold what it computes of a prompt, for another one. */
export interface PromptHold {
  /** Under which it can be taken, once; whoever knows it and the owner gets it, so nobody can guess it. */
  readonly handle: string;
  /** It is let go after so many seconds in which nobody takes it. */
  readonly seconds: number;
  readonly origin: PromptOrigin;
}

/** The numbers that decide how keys, values and scores lie in memory. */
export interface PromptShape {
  readonly layerCount: number;
  readonly kvHeadCount: number;
  readonly headSize: number;
  readonly vocabularySize: number;
}

/**
 * What is held of a prompt. Its bytes are float32, little-endian: blocks of keys and values, each [layer, keys then values,
 * kv head, position, head size], and then the scores after the last token, [vocabulary].
 */
export interface HeldPrompt {
  readonly origin: PromptOrigin;
  readonly tokenIds: readonly number[];
  readonly shape: PromptShape;
  /** Of each block, in the order of the tokens; together as many as tokens. */
  readonly blockPositions: readonly number[];
  readonly byteLength: number;
}

/** What an engine holds for others, and gets from them. */
export interface PromptTransfers {
  /**
   * Takes what is held under a handle, to be read and then dropped.
   *
   * @param owner of the request that had it computed
   * @returns null where there is nothing for this owner: it was taken, let go, or never there
   */
  take(handle: string, owner: string): Promise<HeldPrompt | null>;
  /**
   * A copy of `count` bytes from `offset` on, of what was taken.
   *
   * @throws ServiceError `not_found` where it was let go
   */
  read(handle: string, offset: number, count: number): Promise<Uint8Array>;
  /**
   * Makes room for what another engine holds. A request may name it by its id once all is written.
   *
   * @throws ServiceError `conflict` for another shape, `overloaded` where there is no room for it
   */
  expect(id: string, prompt: HeldPrompt): Promise<void>;
  /** @throws ServiceError `not_found` where it was dropped */
  write(id: string, offset: number, bytes: Uint8Array): Promise<void>;
  /** Lets go of what is held or expected; without effect on what a request has. Idempotent. */
  drop(id: string): Promise<void>;
}

/** Values of one kind that lie in blocks of so many positions. */
export function blockValues(
  { layerCount, kvHeadCount, headSize }: PromptShape,
  positionCount: number,
): number {
  return layerCount * 2 * kvHeadCount * headSize * positionCount;
}

/** The bytes of a prompt of so many tokens, with the scores after it. */
export function heldBytes(shape: PromptShape, tokenCount: number): number {
  return (blockValues(shape, tokenCount) + shape.vocabularySize) * Float32Array.BYTES_PER_ELEMENT;
}
