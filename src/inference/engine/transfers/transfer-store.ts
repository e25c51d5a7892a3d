// Stores prompts that are passed between engines: computed prompts until another engine takes them, and received
// prompts until a request uses them. Their total size is limited, and unclaimed prompts expire.
import type { Clock } from "../../../base/domain/clock.ts";
import {
  blockValues,
  heldBytes,
  type HeldPrompt,
  type PromptHold,
  type PromptShape,
  type PromptTransfers,
} from "../../../base/domain/prompt-transfer.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { stateValues } from "../cache/sequence-states.ts";
import { positionValues } from "../cache/slab.ts";
import type { ModelShape } from "../model-shape.ts";
import { readJoined, writeJoined } from "./joined-bytes.ts";
import { ReceivedPrompt } from "./received-prompt.ts";

/** A prompt to hold for another engine. */
export interface HoldRequest {
  readonly hold: PromptHold;
  readonly owner: string;
  readonly tokenIds: readonly number[];
}

/**
 * Data of a held prompt: its keys and values in blocks, in token order, with the number of positions in each block; the
 * states and the logits after the last token.
 */
export interface HeldArrays {
  readonly blockPositions: readonly number[];
  readonly blocks: readonly Float32Array[];
  readonly states_S: Float32Array;
  readonly scores_V: Float32Array;
}

interface Entry {
  readonly prompt: HeldPrompt;
  /** Blocks of keys and values, then the states, then the logits. */
  readonly arrays: readonly Float32Array[];
  /** Owner that may take the prompt; null once the prompt was taken, and for received prompts. */
  owner: string | null;
  /** Aborted when the prompt is released. */
  readonly end: AbortController;
}

interface TransferStoreOptions {
  readonly bytesMax: number;
  readonly clock: Clock;
  /** Called when a prompt has expired, that is, nobody has taken or used it in time. */
  readonly onExpired?: () => void;
}

export class TransferStore implements PromptTransfers {
  readonly #shape: PromptShape;
  readonly #bytesMax: number;
  readonly #clock: Clock;
  readonly #onExpired: () => void;
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(
    shape: Parameters<typeof promptShapeOf>[0],
    { bytesMax, clock, onExpired = () => undefined }: TransferStoreOptions,
  ) {
    this.#shape = promptShapeOf(shape);
    this.#bytesMax = bytesMax;
    this.#clock = clock;
    this.#onExpired = onExpired;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get promptCount(): number {
    return this.#entries.size;
  }

  /**
   * Holds a prompt for another engine if there is room for it.
   *
   * @param arraysOf returns the prompt's data; called only if there is room
   * @returns true if the prompt is held
   */
  hold({ hold, owner, tokenIds }: HoldRequest, arraysOf: () => HeldArrays): boolean {
    const byteLength = heldBytes(this.#shape, tokenIds.length);
    if (!this.#hasRoom(byteLength) || this.#entries.has(hold.handle)) return false;
    const { blockPositions, blocks, states_S, scores_V } = arraysOf();
    const prompt = { origin: hold.origin, tokenIds, shape: this.#shape, blockPositions, byteLength };
    const entry = this.#add(hold.handle, prompt, [...blocks, states_S, scores_V]);
    entry.owner = owner;
    void this.#expireAfter(hold, entry);
    return true;
  }

  async take(handle: string, owner: string): Promise<HeldPrompt | null> {
    const entry = this.#entries.get(handle);
    if (entry === undefined || entry.owner !== owner) return null;
    entry.owner = null;
    return entry.prompt;
  }

  async read(handle: string, offset: number, count: number): Promise<Uint8Array> {
    return readJoined(this.#entryOf(handle).arrays, offset, count);
  }

  async expect(id: string, prompt: HeldPrompt): Promise<void> {
    refuseOther(prompt, this.#shape);
    if (!this.#hasRoom(prompt.byteLength)) {
      const message = `A prompt of ${prompt.byteLength} bytes does not fit next to the others in transfer: together they may take ${this.#bytesMax} bytes.`;
      throw new ServiceError({ code: "overloaded", message });
    }
    const blocks = prompt.blockPositions.map((count) => new Float32Array(blockValues(this.#shape, count)));
    const ends = [this.#shape.stateSize, this.#shape.vocabularySize].map((size) => new Float32Array(size));
    this.#add(id, prompt, [...blocks, ...ends]);
  }

  async write(id: string, offset: number, bytes: Uint8Array): Promise<void> {
    writeJoined(this.#entryOf(id).arrays, offset, bytes);
  }

  async drop(id: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry !== undefined) this.#remove(id, entry);
  }

  /** Releases all prompts. */
  close(): void {
    for (const [id, entry] of this.#entries) this.#remove(id, entry);
  }

  /**
   * Returns the prompt that was received under an id, for a request with these tokens. Returns null if there is none,
   * or if the two prompts share too few tokens.
   */
  findReceived(id: string, tokenIds: readonly number[]): ReceivedPrompt | null {
    const entry = this.#entries.get(id);
    if (entry === undefined) return null;
    const received = new ReceivedPrompt(entry, tokenIds, () => this.#remove(id, entry));
    if (received.tokenCount > 0) return received;
    received.release();
    return null;
  }

  #hasRoom(byteLength: number): boolean {
    return this.#bytes + byteLength <= this.#bytesMax;
  }

  #entryOf(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry !== undefined) return entry;
    throw new ServiceError({ code: "not_found", message: "The prompt is no longer held." });
  }

  #add(id: string, prompt: HeldPrompt, arrays: readonly Float32Array[]): Entry {
    const entry: Entry = { prompt, arrays, owner: null, end: new AbortController() };
    this.#entries.set(id, entry);
    this.#bytes += prompt.byteLength;
    return entry;
  }

  #remove(id: string, entry: Entry): void {
    if (this.#entries.get(id) !== entry) return;
    this.#entries.delete(id);
    this.#bytes -= entry.prompt.byteLength;
    entry.end.abort();
  }

  /**
   * Removes a prompt when its holding time is over. If another engine has taken the prompt by then, keeps it for the
   * same time once more.
   */
  async #expireAfter({ handle, seconds }: PromptHold, entry: Entry): Promise<void> {
    const { signal } = entry.end;
    try {
      await this.#clock.sleep(seconds * 1000, { signal });
      if (entry.owner === null) await this.#clock.sleep(seconds * 1000, { signal });
      this.#remove(handle, entry);
      this.#onExpired();
    } catch {
      // The prompt was released before it expired.
    }
  }
}

/** Returns the dimensions of a model that prompts in transfer must match. */
export function promptShapeOf(shape: Pick<ModelShape, "caches" | "states" | "vocabularySize">): PromptShape {
  return {
    layerCount: shape.caches.length,
    positionSize: positionValues(shape),
    stateSize: stateValues(shape.states),
    vocabularySize: shape.vocabularySize,
  };
}

/**
 * Requires that received data fits the model and is consistent.
 *
 * @throws ServiceError `conflict` otherwise
 */
function refuseOther(prompt: HeldPrompt, shape: PromptShape): void {
  const { tokenIds, blockPositions, byteLength } = prompt;
  const names = Object.keys(shape) as (keyof PromptShape)[];
  const isSame = names.every((name) => prompt.shape[name] === shape[name]);
  const isPositive = blockPositions.every((count) => Number.isInteger(count) && count > 0);
  const positions = blockPositions.reduce((sum, count) => sum + count, 0);
  const fits = positions === tokenIds.length && byteLength === heldBytes(shape, tokenIds.length);
  if (isSame && isPositive && fits) return;
  throw new ServiceError({
    code: "conflict",
    message: "The prompt held by the other server is of a model with other dimensions.",
  });
}
