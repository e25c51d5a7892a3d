// Converts a preference to its stored form, and finds its faults. Its fields may have any of the names that clients
// use.
import { isDeepStrictEqual } from "node:util";
import type { TSchema } from "typebox";
import type { AnswerMessages, PreferenceExample } from "../../../base/domain/preferences/preference.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import type { MessageRecord } from "../../../base/domain/trajectory.ts";
import { choiceFaults, idList, logprobEntries } from "../../../train/trajectories/choice-faults.ts";
import { check } from "../../../base/validation/check.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { checkExampleMessage } from "../supervised/example-messages.ts";
import { preferenceSchema } from "./preference-schema.ts";

/** The type TSchema hides the types of the members: this module reads them under several names. */
const schema: TSchema = preferenceSchema;

/** Prompt or answer of a preference, as the client sent it: a list of messages, or a single Choice. */
interface Part {
  readonly field: string;
  /** True if the client sent a text instead of messages. */
  readonly isText: boolean;
  readonly items: readonly unknown[];
  /** Returns the path at which the client sent an item. */
  readonly placeOf: (index: number) => readonly string[];
}

/** Names that clients use for the prompt and for each answer. A preference may use only one of the names for each. */
const promptFields = ["prompt", "messages", "input"] as const;
const answerFields = {
  chosen: ["chosen", "preferred_output"],
  rejected: ["rejected", "non_preferred_output"],
} as const;

/** Fields of a preference that the server understands. All others are stored in `extra`. */
const ownFields: readonly string[] = [
  ...promptFields,
  ...answerFields.chosen,
  ...answerFields.rejected,
  "completion",
  "label",
  "tools",
];

/**
 * Checks a preference and converts it to its stored form; returns null if it is invalid. The current path of
 * `findings` must be the path of the preference.
 *
 * @param takesSingles true to accept a preference with a single answer, as KTO does
 */
export function readPreference(
  value: unknown,
  findings: Findings,
  { takesSingles }: { readonly takesSingles: boolean },
): PreferenceExample | null {
  const { faultCount } = findings;
  check(schema, value, findings);
  if (findings.faultCount > faultCount || !isObject(value)) return null;
  const answers = {
    chosen: onlyOne(value, answerFields.chosen, findings),
    rejected: onlyOne(value, answerFields.rejected, findings),
  };
  readLabelled(value, answers, findings);
  requireAnswers(answers, takesSingles, findings);
  const prompt = onlyOne(value, promptFields, findings) ?? sharedBeginning(answers, findings);
  if (findings.faultCount > faultCount || prompt === null) return null;
  prompt.items.forEach((item, index) => checkExampleMessage(item, findings, prompt.placeOf(index)));
  const { chosen, rejected } = answers;
  for (const answer of [chosen, rejected]) if (answer !== null) checkAnswer(answer, findings);
  if (findings.faultCount > faultCount) return null;
  const { input, tools } = value;
  const extra = Object.entries(value).filter(([field]) => !ownFields.includes(field));
  // Safe cast: the check against the schema found no fault, and the values were parsed from JSON.
  return {
    messages: prompt.items as readonly MessageRecord[],
    tools: (tools ?? (isObject(input) ? input["tools"] : null) ?? null) as readonly JsonObject[] | null,
    chosen: (chosen?.items ?? null) as AnswerMessages | null,
    rejected: (rejected?.items ?? null) as AnswerMessages | null,
    extra: Object.fromEntries(extra) as JsonObject,
  };
}

type Value = Readonly<Record<string, unknown>>;

interface Answers {
  chosen: Part | null;
  rejected: Part | null;
}

/**
 * Returns the prompt or answer that the preference has under one of the names in `fields`; null if there is none. Adds
 * a fault if it has two of them.
 */
function onlyOne(value: Value, fields: readonly string[], findings: Findings): Part | null {
  const [field, second] = fields.filter((name) => (value[name] ?? null) !== null);
  if (second !== undefined)
    report(
      findings,
      "value_error",
      `Value error, ${field} and ${second} are two spellings of one field; give one.`,
      second,
    );
  return field === undefined ? null : partOf(field, value[field]);
}

function partOf(field: string, value: unknown): Part {
  const part = (items: Part["items"], placeOf: Part["placeOf"]): Part => ({
    field,
    isText: false,
    items,
    placeOf,
  });
  if (typeof value === "string") {
    const role = (promptFields as readonly string[]).includes(field) ? "user" : "assistant";
    return { ...part([{ role, content: value }], () => [field]), isText: true };
  }
  if (Array.isArray(value)) return part(value, (index) => [field, String(index)]);
  if (field === "input" && isObject(value) && Array.isArray(value["messages"]))
    return part(value["messages"], (index) => [field, "messages", String(index)]);
  if (!isObject(value) || !isChoice(value) || hasTokens(value)) return part([value], () => [field]);
  // A Choice without recorded tokens is trained by its text, like a message.
  return part([value["message"]], () => [field, "message"]);
}

function isChoice(value: Value): boolean {
  return isObject(value["message"]) && Object.hasOwn(value, "finish_reason");
}

function hasTokens(choice: Value): boolean {
  // Safe cast: parsed from JSON.
  const { token_ids: ids, logprobs } = choice as JsonObject;
  return (idList(ids) ?? []).length > 0 || (logprobEntries(logprobs)?.list.length ?? 0) > 0;
}

/** Reads an answer from `completion` and `label`, TRL's columns for unpaired answers. */
function readLabelled(value: Value, answers: Answers, findings: Findings): void {
  const { completion = null, label = null } = value;
  if (completion === null && label === null) return;
  if (completion === null || typeof label !== "boolean") {
    const lacking = completion === null ? "completion" : "label";
    const message = "An answer that is judged by itself has a completion and a label, true or false.";
    return report(findings, "missing", message, lacking);
  }
  if (answers.chosen !== null || answers.rejected !== null) {
    const message = "Value error, there are a completion and other answers; give the one or the others.";
    return report(findings, "value_error", message, "completion");
  }
  answers[label ? "chosen" : "rejected"] = partOf("completion", completion);
}

function requireAnswers({ chosen, rejected }: Answers, takesSingles: boolean, findings: Findings): void {
  const lacking = chosen === null ? "chosen" : "rejected";
  if (chosen === null && rejected === null)
    report(findings, "missing", "Field required: a preference has a chosen and a rejected answer.", lacking);
  else if ((chosen === null || rejected === null) && !takesSingles) {
    const message =
      "Field required: this loss compares two answers. Answers that are judged one by one train with the loss kto.";
    report(findings, "missing", message, lacking);
  }
}

/**
 * Finds the prompt if both answers are whole conversations: the messages with which both begin. Removes them from both
 * answers, but never removes an answer's last message.
 */
function sharedBeginning(answers: Answers, findings: Findings): Part | null {
  const { chosen, rejected } = answers;
  const missing = (): null => {
    const message =
      "Field required: give the prompt, or answers that are lists of messages and begin with it.";
    report(findings, "missing", message, "prompt");
    return null;
  };
  if (chosen === null || rejected === null) return missing();
  const lengthMax = Math.min(chosen.items.length, rejected.items.length) - 1;
  let length = 0;
  while (length < lengthMax && isDeepStrictEqual(chosen.items[length], rejected.items[length])) length += 1;
  if (length === 0) return missing();
  const behind = (part: Part): Part => ({
    ...part,
    items: part.items.slice(length),
    placeOf: (index) => part.placeOf(length + index),
  });
  answers.chosen = behind(chosen);
  answers.rejected = behind(rejected);
  return { ...chosen, items: chosen.items.slice(0, length) };
}

/** Adds faults of an answer. It must end with an assistant message, which is trained. */
function checkAnswer({ field, isText, items, placeOf }: Part, findings: Findings): void {
  const last = items.at(-1);
  if (isObject(last) && isChoice(last)) return checkChoice(last, findings, placeOf(items.length - 1));
  if (isObject(last) && (last["role"] ?? null) === null)
    return report(findings, "missing", "Field required", ...placeOf(items.length - 1), "role");
  if (isText && isObject(last) && last["content"] === "")
    return report(findings, "missing", "An answer needs text.", field);
  const { faultCount } = findings;
  const trained = items.map((item, index) => checkExampleMessage(item, findings, placeOf(index)));
  if (findings.faultCount > faultCount || trained.at(-1) === true) return;
  const message = "Value error, an answer ends with a message of the assistant that trains.";
  report(findings, "value_error", message, field);
}

function checkChoice(choice: Value, findings: Findings, place: readonly string[]): void {
  // Safe cast: parsed from JSON. The vocabulary of the model is unknown here, so unknown token ids are not reported;
  // training drops them.
  for (const fault of choiceFaults(choice as JsonObject, null))
    report(findings, "value_error", `Value error, ${fault.message}`, ...place, ...fault.place);
}
