// Reads the tokens of a recorded choice: ids, log-probabilities, and prompt. Records come from clients, so every field
// is checked; contradictions are refused, not repaired.
import { logprobMin } from "../../base/domain/generation.ts";
import { invalid, quoted, ServiceError } from "../../base/domain/service-error.ts";
import type { Json, JsonObject } from "../../base/domain/text/json.ts";
import type { ChoiceRecord } from "../../base/domain/trajectory.ts";
import { choiceFaults, idList, logprobEntries, namedTokenId } from "./choice-faults.ts";

export interface RecordedTokens {
  /** Token ids of the exact prompt; null if the client library dropped them. */
  readonly promptTokenIds: readonly number[] | null;
  readonly tokenIds: readonly number[];
  /** Log-probability of each token; NaN if it was not recorded or is impossible. */
  readonly logprobs: readonly number[];
}

/**
 * Finds the id of a token by its recorded text. Returns null if the text is not exactly one token of the vocabulary.
 */
export type TokenLookup = (text: string, bytes: readonly number[] | null) => number | null;

/**
 * Reads a choice's tokens from `token_ids`. Without them, reads `logprobs.content` (`logprobs.refusal` if only that is
 * present), in which each token is either `token_id:<N>` or a text of the vocabulary.
 *
 * @param vocabularySize number of token ids in the model's vocabulary
 * @returns null if the choice has no recorded tokens and can only be context
 * @throws ServiceError `invalid` if the record contradicts itself, or has an id that the model lacks; `unsupported` if
 * a token's text has no id
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

/**
 * Returns a recorded log-probability; NaN for an impossible one. A token that was sampled cannot be impossible, so its
 * true value is unknown.
 */
function knownLogprob(logprob: Json | undefined): number {
  return typeof logprob === "number" && logprob > logprobMin ? logprob : NaN;
}

/** Refuses a choice in which a field has the wrong type. */
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
    message: `The recorded token ${quoted(text)} is not a single token of this model's vocabulary.`,
  });
}

/** Returns the error for a recorded choice whose parts contradict each other. */
function contradiction(what: string): ServiceError {
  return invalid(`A recorded choice contradicts itself: ${what}.`);
}
