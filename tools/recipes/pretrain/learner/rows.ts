// Converts chats to rows of token ids, and lists the positions whose next token is trained: the input of one training
// step. Whole chats are packed into rows, each followed by <|endoftext|>. A test checks that the tokens equal those of
// the chat template's text.
import { present } from "../../../../src/base/domain/assert.ts";
import { shuffled, type Random } from "../../../../src/base/domain/random.ts";
import { type Chat, drawChat, type Mixture, systemTextOf } from "../corpus/chats.ts";

/** The method of a tokenizer that this module needs. */
export interface Encoder {
  encode(text: string, options: { readonly addSpecialTokens: boolean }): number[];
}

export interface EncodedChat {
  readonly tokens: number[];
  /** Weight of each token in the loss; 0 for tokens that are not part of an answer. */
  readonly weights: number[];
}

/** Rows of equal length, padded on the right. */
export interface Batch {
  readonly rowCount: number;
  readonly length: number;
  readonly tokens_BT: BigInt64Array;
  /** Flat indices into `tokens_BT` of the positions that predict a token of an answer. */
  readonly places_N: BigInt64Array;
  /** For each position in `places_N`, the token to predict there. */
  readonly targets_N: BigInt64Array;
  /** For each position in `places_N`, the weight of its predicted token in the loss. */
  readonly weights_N: Float32Array;
}

export interface BatchOptions {
  readonly rowCount: number;
  readonly length: number;
  readonly mixture: Mixture;
}

const endOfText = 0;
const turnStart = 1;
const turnEnd = 2;

/**
 * Fraction of a batch that is filled with chats; the rest is padding. At a higher fraction, more chats would fit into
 * no row.
 */
const fullness = 0.95;

/** Returns the chat's tokens as the template renders it, followed by <|endoftext|>. */
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
    // Tokens are weighted by 1 / sqrt(answer length). With equal weights, a story would count twenty times as much as a
    // sum.
    append(said, role === "assistant" ? 1 / Math.sqrt(said.length) : 0);
    append(newline, 0);
  };
  const system = systemTextOf(chat);
  if (system !== null) message("system", system);
  for (const { role, prompt, answer } of chat.turns) {
    message(role, prompt);
    message("assistant", answer);
  }
  append([endOfText], 0);
  return { tokens, weights };
}

/** Draws chats and packs them into a batch. The result depends only on the state of `random`. */
export function drawBatch(encoder: Encoder, random: Random, options: BatchOptions): Batch {
  const { rowCount, length } = options;
  const tokens_BT = new BigInt64Array(rowCount * length).fill(BigInt(endOfText));
  const places: bigint[] = [];
  const targets: bigint[] = [];
  const weights: number[] = [];
  for (const [row, chats] of drawRows(encoder, random, options).entries()) {
    let filled = row * length;
    for (const chat of chats) {
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

/**
 * Draws chats and assigns them to rows. Long chats are placed first, so that nearly all find room; the chats of a row
 * are then shuffled.
 */
function drawRows(
  encoder: Encoder,
  random: Random,
  { rowCount, length, mixture }: BatchOptions,
): readonly (readonly EncodedChat[])[] {
  const rows = Array.from({ length: rowCount }, () => ({ chats: new Array<EncodedChat>(), room: length }));
  const chats = drawChats(encoder, random, { tokenCount: rowCount * length * fullness, length, mixture });
  for (const chat of chats.sort((one, other) => other.tokens.length - one.tokens.length)) {
    const row = rows.find(({ room }) => room >= chat.tokens.length);
    if (row === undefined) continue;
    row.chats.push(chat);
    row.room -= chat.tokens.length;
  }
  return rows.map((row) => shuffled(random, row.chats));
}

/** Draws chats of at most `length` tokens until they have `tokenCount` tokens in total. */
function drawChats(
  encoder: Encoder,
  random: Random,
  { tokenCount, length, mixture }: { readonly tokenCount: number } & Omit<BatchOptions, "rowCount">,
): EncodedChat[] {
  const chats: EncodedChat[] = [];
  for (let drawn = 0; drawn < tokenCount; drawn += present(chats.at(-1), "a chat").tokens.length) {
    let chat = encodeChat(encoder, drawChat(random, mixture));
    while (chat.tokens.length > length) chat = encodeChat(encoder, drawChat(random, mixture));
    chats.push(chat);
  }
  return chats;
}
