// Reads and validates vLLM's answers to `POST /v1/completions`: events of a stream, and whole answers with the
// log-probabilities of their prompt. Ignores the generated text, because Hone decodes the tokens itself.
import {
  logprobMin,
  type GeneratedToken,
  type PromptLogprob,
  type RankedToken,
  type TokenAlternative,
} from "../../../base/domain/generation.ts";
import type { PassedParameters } from "../../../base/domain/prompt-transfer.ts";
import { refusalInStream, malformedAnswer } from "./vllm-errors.ts";

/** Content of one event of a stream. */
export type CompletionChunk = ChoiceChunk | UsageChunk;

/** New tokens of one choice. */
export interface ChoiceChunk {
  readonly kind: "choice";
  /** Id of the answer to which the tokens belong; null if the server gave none. */
  readonly answerId: string | null;
  readonly choice: number;
  /**
   * The tokens with their log-probabilities (NaN if none were requested), and all alternatives in the order in which
   * vLLM returned them.
   */
  readonly tokens: readonly GeneratedToken[];
  /** vLLM's reason why the choice ended; null while it continues. */
  readonly finish: string | null;
}

/** Report of the usage, which follows the end of the last choice. */
export interface UsageChunk {
  readonly kind: "usage";
  readonly answerId: string | null;
  /**
   * Number of the prompt's tokens that came from the cache; null if the server does not report it (without
   * `--enable-prompt-tokens-details`).
   */
  readonly cachedTokenCount: number | null;
}

/** An answer that was not streamed. */
export interface WholeAnswer {
  readonly chunks: readonly CompletionChunk[];
  /**
   * Parameters for another server that will continue with the prompt; null if the answering server does not hold the
   * prompt for another server.
   */
  readonly passed: PassedParameters | null;
}

export interface Completion {
  /** Tokens of the prompt. */
  readonly promptTokenIds: readonly number[];
  /** Log-probabilities of the prompt's tokens; null for the first token. */
  readonly promptLogprobs: readonly (PromptLogprob | null)[];
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads one event of a stream. Returns null for an event without content.
 *
 * @throws ServiceError for an error within the stream; `unavailable` for a malformed event
 */
export function readChunk(value: unknown): CompletionChunk | null {
  const fields = fieldsOf(value, "an event");
  if (fields["error"] !== undefined) throw refusalInStream(fields["error"]);
  const choices = listOf(fields["choices"], "its choices");
  const answerId = idIn(fields);
  if (choices.length > 1) throw malformedAnswer("one choice an event");
  return choices.length === 0 ? readUsage(fields["usage"], answerId) : readChoice(choices[0], answerId);
}

function idIn({ id }: Fields): string | null {
  return typeof id === "string" ? id : null;
}

function readChoice(value: unknown, answerId: string | null): ChoiceChunk {
  const choice = fieldsOf(value, "a choice");
  const ids = (choice["token_ids"] ?? null) === null ? [] : listOf(choice["token_ids"], "its token ids");
  const logprobs =
    (choice["logprobs"] ?? null) === null ? null : fieldsOf(choice["logprobs"], "log-probabilities");
  const finish = choice["finish_reason"] ?? null;
  return {
    kind: "choice",
    answerId,
    choice: numberOf(choice["index"], "the index of a choice"),
    tokens: ids.map((id, index) => readToken(countOf(id, "a token id"), logprobs, index)),
    finish: typeof finish === "string" ? finish : null,
  };
}

function readUsage(usage: unknown, answerId: string | null): UsageChunk | null {
  if ((usage ?? null) === null) return null;
  const details = fieldsOf(usage, "its usage")["prompt_tokens_details"] ?? null;
  const count =
    details === null ? null : (fieldsOf(details, "details of its usage")["cached_tokens"] ?? null);
  return {
    kind: "usage",
    answerId,
    cachedTokenCount: count === null ? null : countOf(count, "its cached tokens"),
  };
}

/**
 * Reads an answer that was not streamed.
 *
 * @throws ServiceError `unavailable` for a malformed answer
 */
export function readWhole(value: unknown): WholeAnswer {
  const fields = fieldsOf(value, "an answer");
  const answerId = idIn(fields);
  const usage = readUsage(fields["usage"], answerId);
  const passed = fields["kv_transfer_params"] ?? null;
  return {
    chunks: [
      ...listOf(fields["choices"], "its choices").map((choice) => readChoice(choice, answerId)),
      ...(usage === null ? [] : [usage]),
    ],
    passed: passed === null ? null : fieldsOf(passed, "the parameters for another server"),
  };
}

/**
 * Reads an answer with the log-probabilities of its prompt.
 *
 * @throws ServiceError `unavailable` for a malformed answer
 */
export function readCompletion(value: unknown): Completion {
  const [first] = listOf(fieldsOf(value, "an answer")["choices"], "its choices");
  const choice = fieldsOf(first, "a choice");
  const tokenIds = listOf(choice["prompt_token_ids"], "the prompt's token ids").map((id) =>
    countOf(id, "a token id"),
  );
  const logprobs = listOf(choice["prompt_logprobs"], "the prompt's log-probabilities");
  if (logprobs.length !== tokenIds.length)
    throw malformedAnswer("a log-probability for each token of the prompt");
  return {
    promptTokenIds: tokenIds,
    promptLogprobs: logprobs.map((entry, index) =>
      entry === null ? null : readPromptToken(tokenIds[index], fieldsOf(entry, "a token")),
    ),
  };
}

function readToken(id: number, logprobs: Fields | null, index: number): GeneratedToken {
  if (logprobs === null) return { id, logprob: NaN, alternatives: [] };
  const own = listOf(logprobs["token_logprobs"], "log-probabilities")[index];
  const top = listOf(logprobs["top_logprobs"], "alternatives")[index];
  const alternatives = Object.entries(fieldsOf(top, "alternatives")).map(([name, logprob]) => ({
    id: idOf(name),
    logprob: logprobOf(logprob),
  }));
  return { id, logprob: logprobOf(own), alternatives: alternatives.sort(byProbability) };
}

/**
 * Reads a token of the prompt with its alternatives, ordered by rank. The alternatives include the token itself only if
 * its rank is within the requested count.
 */
function readPromptToken(id: number, entry: Fields): PromptLogprob {
  const ranked: readonly RankedToken[] = Object.entries(entry)
    .map(([key, value]) => {
      const fields = fieldsOf(value, "a token");
      return {
        id: countOf(Number(key), "a token id"),
        logprob: logprobOf(fields["logprob"]),
        rank: countOf(fields["rank"], "a rank"),
      };
    })
    .sort(byProbability);
  const own = ranked.find((token) => token.id === id);
  if (own === undefined) throw malformedAnswer("a token of the prompt");
  return { ...own, alternatives: ranked };
}

/** Orders more probable tokens before less probable ones, and equally probable tokens by id. */
function byProbability(one: TokenAlternative, other: TokenAlternative): number {
  return other.logprob - one.logprob || one.id - other.id;
}

/** Parses `token_id:394`. In this form vLLM returns tokens if the request asks for token ids. */
function idOf(name: string): number {
  const id = /^token_id:(\d+)$/.exec(name)?.[1];
  if (id === undefined) throw malformedAnswer("the id of an alternative");
  return Number(id);
}

/**
 * A log-probability up to this value is read as 0. It should be at most 0, but rounding may make it slightly greater.
 */
const roundedMax = 1e-3;

/**
 * Reads a log-probability. JSON cannot express minus infinity, so null stands for the log-probability of an impossible
 * token.
 */
function logprobOf(value: unknown): number {
  if (value === null) return logprobMin;
  const logprob = numberOf(value, "a log-probability");
  // This also refuses `1e999`, which `JSON.parse` reads as infinity.
  if (logprob > roundedMax) throw malformedAnswer("a log-probability of at most 0");
  return Math.min(0, Math.max(logprobMin, logprob));
}

function fieldsOf(value: unknown, what: string): Fields {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw malformedAnswer(what);
  return value as Fields;
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw malformedAnswer(what);
  return value;
}

/** Reads a whole number of at least 0. */
function countOf(value: unknown, what: string): number {
  const count = numberOf(value, what);
  if (!Number.isSafeInteger(count) || count < 0) throw malformedAnswer(what);
  return count;
}

function numberOf(value: unknown, what: string): number {
  if (typeof value !== "number" || Number.isNaN(value)) throw malformedAnswer(what);
  return value;
}
