// Converts log-probabilities of the domain to the form of the API.
import type { ChatLogprob, ChatPromptLogprob, ChatRankedToken } from "../../../base/domain/chat.ts";
import { logprobMin } from "../../../base/domain/generation.ts";
import { JsonText } from "../json-text.ts";

export interface LogprobEntry {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
}

export interface TokenEntry extends LogprobEntry {
  readonly top_logprobs: readonly LogprobEntry[];
}

export interface LogprobsBody {
  readonly content: readonly TokenEntry[];
  readonly refusal: null;
}

/**
 * Converts the log-probabilities of an answer's tokens.
 *
 * @param asIds if true, names tokens as `token_id:<N>`, which training can read back without loss
 */
export function logprobsBody(logprobs: readonly ChatLogprob[], asIds: boolean): LogprobsBody {
  return { content: logprobs.map((logprob) => tokenEntry(logprob, asIds)), refusal: null };
}

/** Returns one entry of {@link logprobsBody}. */
export function tokenEntry(logprob: ChatLogprob, asIds: boolean): TokenEntry {
  return {
    ...entry(logprob, asIds),
    top_logprobs: logprob.alternatives.map((alternative) => entry(alternative, asIds)),
  };
}

export function tokenName({ tokenId, text }: Pick<ChatLogprob, "tokenId" | "text">, asIds: boolean): string {
  return asIds ? `token_id:${tokenId}` : text;
}

function entry(logprob: Omit<ChatLogprob, "alternatives">, asIds: boolean): LogprobEntry {
  return {
    token: tokenName(logprob, asIds),
    logprob: Math.max(logprob.logprob, logprobMin),
    bytes: logprob.bytes,
  };
}

/**
 * Returns an object for each prompt token. Its members are named by token ids: first the prompt token itself, then its
 * alternatives in order.
 */
export function promptLogprobsBody(
  tokens: readonly (ChatPromptLogprob | null)[],
): readonly (JsonText | null)[] {
  return tokens.map((token) => token && new JsonText(() => rankedJson(token)));
}

function rankedJson(token: ChatPromptLogprob): string {
  const others = token.alternatives.filter(({ tokenId }) => tokenId !== token.tokenId);
  const members = [token, ...others].map((one) => `"${one.tokenId}":${JSON.stringify(rankedEntry(one))}`);
  return `{${members.join(",")}}`;
}

function rankedEntry({ logprob, rank, text }: ChatRankedToken): object {
  return { logprob: Math.max(logprob, logprobMin), rank, decoded_token: text };
}
