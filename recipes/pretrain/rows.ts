// Chats as rows of token ids, and the places where answers are learned: what one training step eats. Whole chats are
// packed into rows, each ended by <|endoftext|>; the encoding is that of the chat template (a test compares the two).
import { present } from "../../src/domain/assert.ts";
import type { Random } from "../../src/domain/random.ts";
import { type Chat, drawChat } from "./corpus/chats.ts";

/** What of a tokenizer is needed here. */
export interface Encoder {
  encode(text: string, options: { readonly addSpecialTokens: boolean }): number[];
}

export interface EncodedChat {
  readonly tokens: number[];
  /** One per token: how much learning to say it counts; 0 for prompts. */
  readonly weights: number[];
}

/** Rows of equal length, padded on the right. */
export interface Batch {
  readonly rowCount: number;
  readonly length: number;
  readonly tokens_BT: BigInt64Array;
  /** Flat indices into `tokens_BT` of the tokens before each token of an answer. */
  readonly places_N: BigInt64Array;
  /** The tokens to predict there. */
  readonly targets_N: BigInt64Array;
  /** How much each counts. */
  readonly weights_N: Float32Array;
}

const endOfText = 0;
const turnStart = 1;
const turnEnd = 2;

/** The chat as the template renders it, then <|endoftext|>. */
export function encodeChat(encoder: Encoder, chat: Chat): EncodedChat {
  const tokens: number[] = [];
  const weights: number[] = [];
  const append = (ids: readonly number[], weight: number): void => {
    for (const id of ids) {
      tokens.push(id);
      weights.push(weight);
    }
  };
  const encode = (text: string): number[] => encoder.encode(text, { addSpecialTokens: false });
  const newline = encode("\n");
  const message = (role: string, content: string): void => {
    append([turnStart, ...encode(`${role}\n`)], 0);
    const said = [...encode(content), turnEnd];
    // Were all tokens equal, a story would count twenty times as much as a sum.
    append(said, role === "assistant" ? 1 / Math.sqrt(said.length) : 0);
    append(newline, 0);
  };
  if (chat.system !== null) message("system", chat.system);
  for (const { prompt, answer } of chat.turns) {
    message("user", prompt);
    message("assistant", answer);
  }
  append([endOfText], 0);
  return { tokens, weights };
}

/** Draws chats and packs them into a batch; what it draws depends on the state of `random` alone. */
export function drawBatch(
  encoder: Encoder,
  random: Random,
  options: {
    readonly rowCount: number;
    readonly length: number;
    readonly factors?: ReadonlyMap<string, number>;
  },
): Batch {
  const { rowCount, length } = options;
  const tokens_BT = new BigInt64Array(rowCount * length).fill(BigInt(endOfText));
  const places: bigint[] = [];
  const targets: bigint[] = [];
  const weights: number[] = [];
  const waiting = new WaitingChats(() => encodeChat(encoder, drawChat(random, options.factors)), length);
  for (let row = 0; row < rowCount; row++) {
    let filled = row * length;
    const end = filled + length;
    for (let chat = waiting.take(length); chat !== null; chat = waiting.take(end - filled)) {
      for (const [index, token] of chat.tokens.entries()) {
        tokens_BT[filled + index] = BigInt(token);
        const weight = chat.weights[index] ?? 0;
        if (weight === 0) continue;
        places.push(BigInt(filled + index - 1));
        targets.push(BigInt(token));
        weights.push(weight);
      }
      filled += chat.tokens.length;
    }
  }
  return {
    rowCount,
    length,
    tokens_BT,
    places_N: BigInt64Array.from(places),
    targets_N: BigInt64Array.from(targets),
    weights_N: Float32Array.from(weights),
  };
}

/** A small pool of chats from which rows take the first that fits, so that little padding is needed. */
class WaitingChats {
  readonly #draw: () => EncodedChat;
  readonly #lengthMax: number;
  readonly #pool: EncodedChat[] = [];

  constructor(draw: () => EncodedChat, lengthMax: number) {
    this.#draw = draw;
    this.#lengthMax = lengthMax;
  }

  /** The oldest chat of at most `length` tokens, or null when none of the pool fits. */
  take(length: number): EncodedChat | null {
    while (this.#pool.length < 24) {
      const chat = this.#draw();
      if (chat.tokens.length <= this.#lengthMax) this.#pool.push(chat);
    }
    const index = this.#pool.findIndex((chat) => chat.tokens.length <= length);
    return index < 0 ? null : present(this.#pool.splice(index, 1)[0], "the chat found");
  }
}
