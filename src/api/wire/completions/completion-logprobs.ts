// Log-probabilities in the older form of OpenAI's API: four parallel lists, in which alternatives are named by their
// text.
import type { ChatHeader, ChatLogprob } from "../../../base/domain/chat.ts";
import { logprobMin } from "../../../base/domain/generation.ts";
import { tokenName } from "../chat/chat-logprobs.ts";
import { JsonList, JsonText, type TakeBytes } from "../json-text.ts";
import type { CompletionForm } from "./read-completion.ts";

/** A token of a prompt or an answer, as the older form shows it. The first token of a prompt has no log-probability. */
export type ShownToken = Pick<ChatLogprob, "tokenId" | "text" | "bytes"> & {
  readonly logprob: number | null;
  readonly alternatives: readonly Pick<ChatLogprob, "tokenId" | "text" | "logprob">[];
};

export interface CompletionLogprobs {
  readonly tokens: readonly string[];
  readonly token_logprobs: readonly (number | null)[];
  /**
   * For each token, the log-probabilities of its alternatives and of the token itself. An entry may therefore have one
   * item more than requested.
   */
  readonly top_logprobs: readonly (Readonly<Record<string, number>> | null)[];
  /** Offset of each token's text in the choice's text, counted in Unicode code points. */
  readonly text_offset: readonly number[];
}

/**
 * Returns the four lists for these tokens.
 *
 * @param offset offset at which the first token's text begins
 * @param asIds if true, names tokens as `token_id:<N>`
 */
export function completionLogprobs(
  tokens: readonly ShownToken[],
  offset: number,
  asIds: boolean,
): CompletionLogprobs {
  const offsets: number[] = [];
  let end = offset;
  for (const { bytes } of tokens) {
    offsets.push(end);
    end += characterCount(bytes);
  }
  return {
    tokens: tokens.map((token) => tokenName(token, asIds)),
    token_logprobs: tokens.map(({ logprob }) => (logprob === null ? null : Math.max(logprob, logprobMin))),
    top_logprobs: tokens.map((token) => topLogprobs(token, asIds)),
    text_offset: offsets,
  };
}

/**
 * Log-probabilities of an echoed prompt, which all answers to the prompt have in common. Alternatives are serialized
 * only when they are written.
 */
export interface EchoedLogprobs {
  readonly lists: Omit<CompletionLogprobs, "top_logprobs"> & { readonly top_logprobs: readonly unknown[] };
  /** Offset at which the echo ends and the answer's first token begins. */
  readonly end: number;
}

export function echoedLogprobs(header: ChatHeader, form: CompletionForm, asIds: boolean): EchoedLogprobs {
  const tokens = echoedTokens(header, form);
  const start = startOf(header);
  const plain = tokens.map((token) => ({ ...token, alternatives: [] }));
  const lists = {
    ...completionLogprobs(plain, start, asIds),
    top_logprobs: tokens.map((token) =>
      token.logprob === null ? null : new JsonText(() => JSON.stringify(topLogprobs(token, asIds))),
    ),
  };
  return { lists, end: endOf(tokens, start) };
}

/** Log-probabilities of one choice. Each token is serialized when it arrives. */
export class GatheredLogprobs {
  readonly #lists: Readonly<Record<keyof CompletionLogprobs, JsonList>>;
  readonly #asIds: boolean;
  #end: number;

  constructor({ lists, end }: EchoedLogprobs, asIds: boolean, take: TakeBytes) {
    this.#asIds = asIds;
    this.#end = end;
    this.#lists = {
      tokens: new JsonList(take, lists.tokens),
      token_logprobs: new JsonList(take, lists.token_logprobs),
      top_logprobs: new JsonList(take, lists.top_logprobs),
      text_offset: new JsonList(take, lists.text_offset),
    };
  }

  add(tokens: readonly ShownToken[]): void {
    const added = completionLogprobs(tokens, this.#end, this.#asIds);
    for (const token of added.tokens) this.#lists.tokens.add(token);
    for (const logprob of added.token_logprobs) this.#lists.token_logprobs.add(logprob);
    for (const top of added.top_logprobs) this.#lists.top_logprobs.add(top);
    for (const offset of added.text_offset) this.#lists.text_offset.add(offset);
    this.#end = endOf(tokens, this.#end);
  }

  get body(): object {
    return this.#lists;
  }
}

/** Returns the tokens of an echoed prompt with their log-probabilities; empty if the request does not ask for these. */
function echoedTokens(
  { echoedTokens: tokens, promptLogprobs }: ChatHeader,
  { echoedLogprobCount: count }: Pick<CompletionForm, "echoedLogprobCount">,
): readonly ShownToken[] {
  if (tokens === null || count === null) return [];
  return tokens.map((token, index) => {
    const judged = promptLogprobs?.[index] ?? null;
    const alternatives = judged?.alternatives.slice(0, count) ?? [];
    return { ...token, logprob: judged?.logprob ?? null, alternatives };
  });
}

/**
 * Returns the offset of the first token in the lists: 0, or the end of the echo if the lists omit the echo's tokens.
 */
function startOf({ echo, echoedTokens: tokens }: ChatHeader): number {
  return tokens === null ? characterCount(Buffer.from(echo)) : 0;
}

/** Returns the offset at which these tokens end if they begin at `start`. */
export function endOf(tokens: readonly Pick<ShownToken, "bytes">[], start: number): number {
  return tokens.reduce((end, { bytes }) => end + characterCount(bytes), start);
}

function topLogprobs(token: ShownToken, asIds: boolean): Readonly<Record<string, number>> | null {
  if (token.logprob === null) return null;
  const byName = new Map<string, number>();
  for (const one of [{ ...token, logprob: token.logprob }, ...token.alternatives]) {
    const name = tokenName(one, asIds);
    // Tokens with the same text have the same key. The token itself takes precedence, then the more probable
    // alternative.
    if (!byName.has(name)) byName.set(name, Math.max(one.logprob, logprobMin));
  }
  return Object.fromEntries(byName);
}

/** Returns the number of code points in UTF-8 bytes. The bytes must be whole characters. */
function characterCount(bytes: Iterable<number>): number {
  let count = 0;
  // In UTF-8, all bytes of a character but the first start with the bits 10.
  for (const byte of bytes) if ((byte & 0xc0) !== 0x80) count += 1;
  return count;
}
