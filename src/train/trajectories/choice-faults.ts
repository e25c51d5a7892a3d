// Finds contradictions in a recorded choice, and computes the length of its answer. A job's data is checked twice in
// this way: before it is stored, and during training. Pure.
import { cut } from "../../base/domain/service-error.ts";
import { type Json, type JsonObject, isJsonObject } from "../../base/domain/text/json.ts";
import { type Trajectory, asChoice } from "../../base/domain/trajectory.ts";

export interface ChoiceFault {
  /** Path of the faulty field within the choice, with the API's field names. */
  readonly place: readonly string[];
  /** Error message as a clause without a full stop, so that callers can put it into a sentence. */
  readonly message: string;
}

/**
 * Yields the faults of a recorded choice lazily. Skips parts of the wrong type.
 *
 * @param vocabularySize number of token ids in the model's vocabulary; null if unknown
 */
export function* choiceFaults(choice: JsonObject, vocabularySize: number | null): Generator<ChoiceFault> {
  const tokenIds = idList(choice["token_ids"]);
  const entries = logprobEntries(choice["logprobs"]);
  yield* unknownIds(choice, vocabularySize ?? Infinity);
  if (entries !== null) yield* entryFaults(entries, tokenIds);
  else if (tokenIds === null) yield* promptWithoutAnswer(choice);
}

/** Returns the largest token id in a choice's prompt or answer, with its path; null if the choice contains no ids. */
export function greatestTokenId(
  choice: JsonObject,
): { readonly id: number; readonly place: readonly string[] } | null {
  let greatest: ReturnType<typeof greatestTokenId> = null;
  for (const { ids, placeOf } of idLists(choice))
    ids.forEach((id, index) => {
      if (id > (greatest?.id ?? -1)) greatest = { id, place: placeOf(index) };
    });
  return greatest;
}

/** The entries of a choice's `logprobs.content`, or of `logprobs.refusal` if only that is present. */
export interface LogprobEntries {
  readonly list: readonly JsonObject[];
  /** Path of the list within the choice. */
  readonly place: readonly string[];
}

/**
 * Finds the entries in a choice's log-probabilities.
 *
 * @returns null if there are none, or if they are not a list of objects
 */
export function logprobEntries(logprobs: Json | undefined): LogprobEntries | null {
  if (!isJsonObject(logprobs)) return null;
  const name = (logprobs["content"] ?? null) === null ? "refusal" : "content";
  const list = logprobs[name] ?? null;
  return Array.isArray(list) && list.every(isJsonObject) ? { list, place: ["logprobs", name] } : null;
}

/**
 * Returns the value as a list of token ids.
 *
 * @returns null if the value is not a list of integers
 */
export function idList(value: Json | undefined): readonly number[] | null {
  return Array.isArray(value) && value.every(Number.isInteger) ? (value as readonly number[]) : null;
}

/** Returns the id of a token that is recorded as `token_id:<N>`; null if it is recorded as text. */
export function namedTokenId({ token }: JsonObject): number | null {
  const match = typeof token === "string" ? /^token_id:(\d+)$/.exec(token) : null;
  return match === null ? null : Number(match[1]);
}

interface IdList {
  readonly ids: readonly number[];
  readonly placeOf: (index: number) => readonly string[];
}

/**
 * Returns every list of token ids in a choice. In the list from the log-probabilities, a token that was recorded as
 * text gets the id -1.
 */
function idLists(choice: JsonObject): readonly IdList[] {
  const named = ["prompt_token_ids", "token_ids"].map((name): IdList => {
    return { ids: idList(choice[name]) ?? [], placeOf: (index) => [name, String(index)] };
  });
  const entries = logprobEntries(choice["logprobs"]);
  if (entries === null) return named;
  const ids = entries.list.map((entry) => namedTokenId(entry) ?? -1);
  return [...named, { ids, placeOf: (index) => [...entries.place, String(index), "token"] }];
}

/**
 * Returns, for each list, the first id that is not in the vocabulary. If the choice has `token_ids`, the
 * log-probabilities are not checked, because their ids must equal those in `token_ids`.
 */
function unknownIds(choice: JsonObject, vocabularySize: number): readonly ChoiceFault[] {
  const isNamedTwice = idList(choice["token_ids"]) !== null;
  return idLists(choice).flatMap(({ ids, placeOf }) => {
    const isNamed = placeOf(0)[0] === "logprobs";
    if (isNamed && isNamedTwice) return [];
    const index = ids.findIndex((id) => id >= vocabularySize || (id < 0 && !isNamed));
    if (index === -1) return [];
    const message = unknownIdMessage(ids[index], vocabularySize);
    return [{ place: placeOf(index), message }];
  });
}

/** Returns the error message for a token id that is not in the model's vocabulary. */
export function unknownIdMessage(id: number, vocabularySize: number): string {
  return id < 0
    ? `it holds token id ${id}, and ids begin at 0`
    : `it holds token id ${id}, and this model's ids end at ${vocabularySize - 1}`;
}

function* entryFaults(
  { list, place }: LogprobEntries,
  tokenIds: readonly number[] | null,
): Generator<ChoiceFault> {
  if (tokenIds !== null && tokenIds.length !== list.length) {
    const message = `there are ${list.length} log-probabilities for ${tokenIds.length} token_ids`;
    yield { place, message };
  }
  for (const [index, entry] of list.entries()) {
    const id = tokenIds !== null && tokenIds.length === list.length ? tokenIds[index] : null;
    const named = namedTokenId(entry);
    if (id !== null && named !== null && named !== id) {
      const message = `logprobs name token ${named} where token_ids say ${id}`;
      yield { place: [...place, String(index), "token"], message };
    }
    if (!isLogprob(entry["logprob"])) {
      const message = `${cut(JSON.stringify(entry["logprob"]))} is not a log-probability`;
      yield { place: [...place, String(index), "logprob"], message };
    }
  }
}

/**
 * True if the log-probability is absent or valid. Rounding makes some valid values slightly positive. A value that is
 * infinite in float32, in which training computes, is invalid.
 */
function isLogprob(value: Json | undefined): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === "number" && Number.isFinite(Math.fround(value)) && value <= 0.01;
}

/** Returns a fault if the choice records exact tokens for the prompt but none for the answer. */
function promptWithoutAnswer(choice: JsonObject): readonly ChoiceFault[] {
  if ((idList(choice["prompt_token_ids"]) ?? []).length === 0) return [];
  const message = "it has prompt_token_ids, but neither token_ids nor logprobs.content gives the answer";
  return [{ place: ["token_ids"], message }];
}

/** Length of one answer of the model. */
export interface AnswerLength {
  /** Number of tokens in the answer; null if the record has no tokens. */
  readonly tokenCount: number | null;
  /** True if the answer was cut off (its finish reason is `length`); null if the record has no finish reason. */
  readonly isCut: boolean | null;
}

/** Names of metrics about answers, as in TRL. */
export const answerMetrics = {
  length: "completions/mean_length",
  lengthMax: "completions/max_length",
  cut: "completions/clipped_ratio",
} as const;

/** Returns the lengths of all answers that a trajectory records as choices, in order. */
export function answersOf(
  trajectory: Pick<Trajectory, "messagesAndChoices" | "additionalHistories">,
): readonly AnswerLength[] {
  const histories = [trajectory, ...trajectory.additionalHistories];
  return histories
    .flatMap(({ messagesAndChoices }) => messagesAndChoices)
    .flatMap((item) => asChoice(item) ?? [])
    .map((choice) => {
      const { token_ids: ids, finish_reason: reason } = choice;
      const tokenCount = Array.isArray(ids) ? ids.length : logprobEntries(choice["logprobs"])?.list.length;
      return {
        tokenCount: tokenCount ?? null,
        isCut: typeof reason === "string" ? reason === "length" : null,
      };
    });
}
