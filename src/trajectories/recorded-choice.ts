// What a recorded Choice says about its tokens: ids, log-probabilities, and the prompt it answered.
// Records come from clients, so everything is checked; what contradicts itself is refused, not repaired.
import { quoted, ServiceError } from "../domain/service-error.ts";
import type { ChoiceRecord, Json, JsonObject } from "../domain/trajectory.ts";

export interface RecordedTokens {
  /** The exact prompt; null when the client library dropped it. */
  readonly promptTokenIds: readonly number[] | null;
  readonly tokenIds: readonly number[];
  /** One per token, NaN where none was recorded. */
  readonly logprobs: readonly number[];
}

/** Finds the id of a token that was recorded as text; null when no single token of the vocabulary reads so. */
export type TokenLookup = (text: string, bytes: readonly number[] | null) => number | null;

/**
 * Reads the tokens of a Choice from `token_ids`, or else from `logprobs.content` (`logprobs.refusal` when
 * that is all there is), whose token texts read `token_id:<N>` or stand in the vocabulary.
 *
 * @returns null when the Choice recorded no tokens: it can only be context
 * @throws ServiceError `invalid` when the record contradicts itself; `unsupported` when a token's text has no id
 */
export function readRecordedTokens(choice: ChoiceRecord, lookup: TokenLookup): RecordedTokens | null {
  const entries = logprobEntries(choice["logprobs"]);
  const exactIds = idList(choice["token_ids"], "token_ids");
  if (exactIds === null && entries === null) return null;
  const tokenIds = exactIds ?? (entries ?? []).map((entry) => tokenIdOf(entry, lookup));
  return {
    promptTokenIds: idList(choice["prompt_token_ids"], "prompt_token_ids"),
    tokenIds,
    logprobs: entries === null ? tokenIds.map(() => NaN) : matchingLogprobs(entries, tokenIds),
  };
}

function logprobEntries(logprobs: Json | undefined): readonly JsonObject[] | null {
  if (!isObject(logprobs)) return null;
  const list = logprobs["content"] ?? logprobs["refusal"] ?? null;
  if (list === null) return null;
  if (!Array.isArray(list) || !list.every(isObject))
    throw contradiction("logprobs.content is not a list of objects");
  return list;
}

function idList(value: Json | undefined, name: string): readonly number[] | null {
  if (value === null || value === undefined) return null;
  const isIdList =
    Array.isArray(value) && value.every((id) => typeof id === "number" && Number.isInteger(id));
  if (!isIdList) throw contradiction(`${name} is not a list of integers`);
  return value as readonly number[];
}

function tokenIdOf(entry: JsonObject, lookup: TokenLookup): number {
  const named = namedTokenId(entry);
  if (named !== null) return named;
  const { token, bytes } = entry;
  const isByteList = Array.isArray(bytes) && bytes.every((byte) => typeof byte === "number");
  const text = typeof token === "string" ? token : "";
  const id = lookup(text, isByteList ? bytes : null);
  if (id !== null) return id;
  throw new ServiceError({
    code: "unsupported",
    message: `The recorded token ${quoted(text)} is not one token of this model's vocabulary.`,
  });
}

function namedTokenId(entry: JsonObject): number | null {
  const { token } = entry;
  const match = typeof token === "string" ? /^token_id:(\d+)$/.exec(token) : null;
  return match === null ? null : Number(match[1]);
}

function matchingLogprobs(entries: readonly JsonObject[], tokenIds: readonly number[]): number[] {
  if (entries.length !== tokenIds.length) {
    throw contradiction(`there are ${entries.length} log-probabilities for ${tokenIds.length} token_ids`);
  }
  return entries.map((entry, index) => {
    const named = namedTokenId(entry);
    if (named !== null && named !== tokenIds[index]) {
      throw contradiction(`logprobs name token ${named} where token_ids say ${tokenIds[index]}`);
    }
    const { logprob } = entry;
    if (logprob === null || logprob === undefined) return NaN;
    // Training computes in float32, where a number of greater size is infinite.
    if (typeof logprob !== "number" || !Number.isFinite(Math.fround(logprob)) || logprob > 0.01) {
      throw contradiction(`${JSON.stringify(logprob)} is no log-probability`);
    }
    return logprob;
  });
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The error for a record whose parts do not fit together. */
export function contradiction(what: string): ServiceError {
  return new ServiceError({ code: "invalid", message: `A recorded choice contradicts itself: ${what}.` });
}
