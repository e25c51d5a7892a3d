// What a recorded Choice says about its tokens: ids, log-probabilities, and the prompt it answered.
// Records come from clients, so everything is checked; what contradicts itself is refused, not repaired.
import { logprobMin } from "../../base/domain/generation.ts";
import { invalid, quoted, ServiceError } from "../../base/domain/service-error.ts";
import type { Json, JsonObject } from "../../base/domain/text/json.ts";
import type { ChoiceRecord } from "../../base/domain/trajectory.ts";
import { choiceFaults, idList, logprobEntries, namedTokenId } from "./choice-faults.ts";

export interface RecordedTokens {
  /** The exact prompt; null when the client library dropped it. */
  readonly promptTokenIds: readonly number[] | null;
  readonly tokenIds: readonly number[];
  /** One per token, NaN where none was recorded, or one that cannot be. */
  readonly logprobs: readonly number[];
}

/** Finds the id of a token that was recorded as text; null when no single token of the vocabulary reads so. */
export type TokenLookup = (text: string, bytes: readonly number[] | null) => number | null;

/**
 * Reads the tokens of a Choice from `token_ids`, or else from `logprobs.content` (`logprobs.refusal` when
 * that is all there is), whose token texts read `token_id:<N>` or stand in the vocabulary.
 *
 * @param vocabularySize how many ids the model has
 * @returns null when the Choice recorded no tokens: it can only be context
 * @throws ServiceError `invalid` when the record contradicts itself, or names an id that the model does not have;
 *   `unsupported` when a token's text has no id
 */
export function readRecordedTokens(
  choice: ChoiceRecord,
  lookup: TokenLookup,
  vocabularySize: number,
): RecordedTokens | null {
  requireWellFormed(choice);
  const [fault] = choiceFaults(choice, vocabularySize);
  if (fault !== undefined) throw contradiction(fault.message);
  const entries = logprobEntries(choice["logprobs"])?.list ?? null;
  const exactIds = idList(choice["token_ids"]);
  if (exactIds === null && entries === null) return null;
  const tokenIds = exactIds ?? (entries ?? []).map((entry) => tokenIdOf(entry, lookup, vocabularySize));
  const logprobs = entries?.map(({ logprob }) => knownLogprob(logprob));
  return {
    promptTokenIds: idList(choice["prompt_token_ids"]),
    tokenIds,
    logprobs: logprobs ?? tokenIds.map(() => NaN),
  };
}

/** A sampled token is never impossible: a record that says so does not know its log-probability. */
function knownLogprob(logprob: Json | undefined): number {
  return typeof logprob === "number" && logprob > logprobMin ? logprob : NaN;
}

/** What is neither absent nor of the type it should have. */
function requireWellFormed({ logprobs, ...fields }: ChoiceRecord): void {
  for (const name of ["token_ids", "prompt_token_ids"])
    if ((fields[name] ?? null) !== null && idList(fields[name]) === null)
      throw contradiction(`${name} is not a list of integers`);
  const lists = logprobs as { readonly content?: Json; readonly refusal?: Json } | null | undefined;
  const list = lists?.content ?? lists?.refusal ?? null;
  if (list !== null && logprobEntries(logprobs) === null)
    throw contradiction("logprobs.content is not a list of objects");
}

function tokenIdOf(entry: JsonObject, lookup: TokenLookup, vocabularySize: number): number {
  const named = namedTokenId(entry);
  if (named !== null) return named;
  const { token, bytes } = entry;
  const isByteList = Array.isArray(bytes) && bytes.every((byte) => typeof byte === "number");
  const text = typeof token === "string" ? token : "";
  const id = lookup(text, isByteList ? bytes : null);
  if (id !== null && id < vocabularySize) return id;
  throw new ServiceError({
    code: "unsupported",
    message: `The recorded token ${quoted(text)} is not one token of this model's vocabulary.`,
  });
}

/** The error for a record whose parts do not fit together. */
function contradiction(what: string): ServiceError {
  return invalid(`A recorded choice contradicts itself: ${what}.`);
}
