// From a preference in any of its spellings to the one that is stored. What is wrong with it is found on the way.
import { isDeepStrictEqual } from "node:util";
import type { TSchema } from "typebox";
import type { PreferenceExample } from "../../domain/preferences/preference.ts";
import type { JsonObject, MessageRecord } from "../../domain/trajectory.ts";
import { check } from "../../validation/check.ts";
import { isObject, report, type Findings } from "../../validation/findings.ts";
import { checkExampleMessages } from "../supervised/example-messages.ts";
import { preferenceSchema } from "./preference-schema.ts";

/** Without what its type says of its members. */
const schema: TSchema = preferenceSchema;

/** Where a part of a preference was sent, and the messages there. */
interface Part {
  readonly field: string;
  readonly messages: readonly unknown[];
  /** Below which place each message stands. */
  readonly place: readonly string[];
}

/** How a preference is spelled; any of these has to be there, and no two of one line. */
const promptFields = ["prompt", "messages", "input"] as const;
const answerFields = {
  chosen: ["chosen", "preferred_output"],
  rejected: ["rejected", "non_preferred_output"],
} as const;

/** What stands beside the prompt and the answers in a preference that is stored. */
const ownFields: readonly string[] = [
  ...promptFields,
  ...answerFields.chosen,
  ...answerFields.rejected,
  "completion",
  "label",
  "tools",
];

/**
 * Checks a preference where the findings stand, and reads it; null where something is wrong.
 *
 * @param takesSingles whether one answer alone is one too, as KTO takes them
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
  checkExampleMessages(prompt.messages, findings, prompt.place);
  const { chosen, rejected } = answers;
  for (const answer of [chosen, rejected]) if (answer !== null) checkAnswer(answer, findings);
  if (findings.faultCount > faultCount) return null;
  const { input, tools } = value;
  const extra = Object.entries(value).filter(([field]) => !ownFields.includes(field));
  // The walk found nothing that differs from the schema, and all of these came out of JSON.
  return {
    messages: prompt.messages as readonly MessageRecord[],
    tools: (tools ?? (isObject(input) ? input["tools"] : null) ?? null) as readonly JsonObject[] | null,
    chosen: (chosen?.messages ?? null) as readonly MessageRecord[] | null,
    rejected: (rejected?.messages ?? null) as readonly MessageRecord[] | null,
    extra: Object.fromEntries(extra) as JsonObject,
  };
}

type Value = Readonly<Record<string, unknown>>;

interface Answers {
  chosen: Part | null;
  rejected: Part | null;
}

/** Which of these spellings there is; two of them are a fault. */
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
  if (typeof value === "string") {
    const role = (promptFields as readonly string[]).includes(field) ? "user" : "assistant";
    return { field, messages: [{ role, content: value }], place: [field] };
  }
  if (field === "input" && isObject(value))
    return { field, messages: listOf(value["messages"]), place: [field, "messages"] };
  return { field, messages: Array.isArray(value) ? listOf(value) : [value], place: [field] };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** TRL's columns of answers that are judged one by one. */
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

/** The prompt of answers that are whole conversations: what both begin with, but for their last messages. */
function sharedBeginning(answers: Answers, findings: Findings): Part | null {
  const { chosen, rejected } = answers;
  const missing = (): null => {
    const message =
      "Field required: give the prompt, or answers that are lists of messages and begin with it.";
    report(findings, "missing", message, "prompt");
    return null;
  };
  if (chosen === null || rejected === null) return missing();
  const lengthMax = Math.min(chosen.messages.length, rejected.messages.length) - 1;
  let length = 0;
  while (length < lengthMax && isDeepStrictEqual(chosen.messages[length], rejected.messages[length]))
    length += 1;
  if (length === 0) return missing();
  answers.chosen = { ...chosen, messages: chosen.messages.slice(length) };
  answers.rejected = { ...rejected, messages: rejected.messages.slice(length) };
  return { ...chosen, messages: chosen.messages.slice(0, length) };
}

/** It ends with what the assistant says, which trains. */
function checkAnswer({ messages, place }: Part, findings: Findings): void {
  const { hasAnswer } = checkExampleMessages(messages, findings, place);
  const last = messages.at(-1);
  if (isObject(last) && last["role"] === "assistant" && hasAnswer) return;
  const message = "Value error, an answer ends with a message of the assistant that trains.";
  report(findings, "value_error", message, ...place);
}
