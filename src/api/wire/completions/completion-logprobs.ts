// Log-probabilities in the older of OpenAI's shapes: four lists side by side, and alternatives by their text.
import type { ChatHeader, ChatLogprob } from "../../../base/domain/chat.ts";
import { logprobMin } from "../../../base/domain/generation.ts";
import { tokenName } from "../chat/chat-logprobs.ts";
import { JsonList, JsonText, type TakeBytes } from "../json-text.ts";
import type { CompletionForm } from "./read-completion.ts";

/** A token as this shape shows it; one of the prompt's, of which the first is not judged, or one of an answer. */
export type ShownToken = Pick<ChatLogprob, "tokenId" | "text" | "bytes"> & {
  readonly logprob: number | null;
  readonly alternatives: readonly Pick<ChatLogprob, "tokenId" | "text" | "logprob">[];
};

export interface CompletionLogprobs {
  readonly tokens: readonly string[];
  readonly token_logprobs: readonly (number | null)[];
  /** The token itself and the alternatives, so that there may be one more than were asked for. */
  readonly top_logprobs: readonly (Readonly<Record<string, number>> | null)[];
  /** Where each token's text begins in the choice's, in characters (code points). */
  readonly text_offset: readonly number[];
}

/**
 * @param offset where the text of the first token begins
 * @param asIds tokens read `token_id:<N>`
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

/** Those of a prompt that is put before answers: the same for each of them, and spelled when they are written. */
export interface EchoedLogprobs {
  readonly lists: Omit<CompletionLogprobs, "top_logprobs"> & { readonly top_logprobs: readonly unknown[] };
  /** Where the text of the first token behind them begins. */
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

/** Those of one choice, spelled while they come. */
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

/** The tokens of a prompt that is put before answers, where these are judged. */
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

/** Where the text of the first token of a choice begins that has one: behind a prompt whose tokens are not shown. */
function startOf({ echo, echoedTokens: tokens }: ChatHeader): number {
  return tokens === null ? characterCount(Buffer.from(echo)) : 0;
}

/** Where the text behind the tokens begins, if theirs begins at `start`. */
export function endOf(tokens: readonly Pick<ShownToken, "bytes">[], start: number): number {
  return tokens.reduce((end, { bytes }) => end + characterCount(bytes), start);
}

function topLogprobs(token: ShownToken, asIds: boolean): Readonly<Record<string, number>> | null {
  if (token.logprob === null) return null;
  const byName = new Map<string, number>();
  for (const one of [{ ...token, logprob: token.logprob }, ...token.alternatives]) {
    const name = tokenName(one, asIds);
    // Tokens of the same text cannot be told apart here: the token itself counts, then the more probable.
    if (!byName.has(name)) byName.set(name, Math.max(one.logprob, logprobMin));
  }
  return Object.fromEntries(byName);
}

/** How many code points these bytes of whole characters are. */
function characterCount(bytes: Iterable<number>): number {
  let count = 0;
  // Bytes that go on with a character begin with 10.
  for (const byte of bytes) if ((byte & 0xc0) !== 0x80) count += 1;
  return count;
}
