// The limits of a chat request: how long its lists may be, and the most tokens of its answer as clients spell it.
// Lists are checked before anything walks or renders them: what is over a limit is refused in the time of a few look-ups.
import { Type } from "typebox";
import { ServiceError, type Fault } from "../../../base/domain/service-error.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { nullable } from "../nullable.ts";

/** How many of each a chat request may hold. */
export interface ChatLimits {
  readonly chatMessages: number;
  readonly chatParts: number;
  readonly chatTools: number;
  readonly chatStopStrings: number;
  readonly chatStopCharacters: number;
  readonly chatBadWordCharacters: number;
  readonly chatTokenIds: number;
  readonly chatBiases: number;
}

/** @throws ServiceError `invalid` naming every list and text that is longer than its limit */
export function refuseBeyondLimits(body: unknown, limits: ChatLimits): void {
  if (!isObject(body)) return;
  const { messages, tools, stop, bad_words: badWords, logit_bias: bias } = body;
  const faults = [
    ...longList(["messages"], messages, limits.chatMessages),
    ...longList(["tools"], tools, limits.chatTools),
    ...longTexts("stop", stop, limits),
    ...longTexts("bad_words", badWords, limits),
    ...longBadWords(badWords, limits),
    ...longList(["stop_token_ids"], body["stop_token_ids"], limits.chatTokenIds),
    ...longList(["allowed_token_ids"], body["allowed_token_ids"], limits.chatTokenIds),
    ...longList(["logit_bias"], isObject(bias) ? Object.keys(bias) : [], limits.chatBiases),
  ];
  // Of a list that is too long itself nothing more is looked at.
  if (faults.length === 0 && Array.isArray(messages)) faults.push(...longMessages(messages, limits));
  if (faults.length > 0) throw new ServiceError({ code: "invalid", faults });
}

function longMessages(messages: readonly unknown[], { chatParts, chatTools }: ChatLimits): readonly Fault[] {
  return messages.flatMap((message, index) => {
    if (!isObject(message)) return [];
    const place = ["messages", String(index)];
    return [
      ...longList([...place, "content"], message["content"], chatParts),
      ...longList([...place, "tool_calls"], message["tool_calls"], chatTools),
    ];
  });
}

function longTexts(field: string, value: unknown, limits: ChatLimits): readonly Fault[] {
  const { chatStopStrings, chatStopCharacters } = limits;
  const list = longList([field], value, chatStopStrings);
  if (list.length > 0) return list;
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
  return texts.flatMap((text, index) => {
    if (typeof text !== "string" || text.length <= chatStopCharacters) return [];
    const place = Array.isArray(value) ? [field, String(index)] : [field];
    const message = `The text has ${text.length} characters; at most ${chatStopCharacters} are taken.`;
    return [{ location: ["body", ...place], message, type: "string_too_long" }];
  });
}

/** Whatever each word has: all are compared with every answer's end at every token. */
function longBadWords(words: unknown, { chatBadWordCharacters }: ChatLimits): readonly Fault[] {
  const texts: readonly unknown[] = Array.isArray(words) ? words : [];
  const length = texts.reduce((sum: number, text) => sum + (typeof text === "string" ? text.length : 0), 0);
  if (length <= chatBadWordCharacters) return [];
  const message = `The bad words have ${length} characters together; at most ${chatBadWordCharacters} are taken.`;
  return [{ location: ["body", "bad_words"], message, type: "too_long" }];
}

/** The fault of a list that is longer than it may be; none of anything else. */
export function longList(place: readonly string[], value: unknown, countMax: number): readonly Fault[] {
  if (!Array.isArray(value) || value.length <= countMax) return [];
  const message = `The list has ${value.length} items; at most ${countMax} are taken.`;
  return [{ location: ["body", ...place], message, type: "too_long" }];
}

// -1 asks for no limit, as in LM Studio and llama.cpp.
/** Takes what {@link checkTokenLimit} passes. */
export const tokenLimitSchema = () => nullable(Type.Integer({ minimum: -1 }));

export const tokenLimitRange = "at least 1, or -1 for no limit";

/** Adds a fault for 0, which a schema with a least value cannot except; looks at a raw value. */
export function checkTokenLimit(value: unknown, field: string, findings: Findings): void {
  if (value !== 0) return;
  const message = "Input should be greater than or equal to 1, or -1 for no limit (got 0)";
  report(findings, "greater_than_equal", message, field);
}

/** The limit of a checked body: Infinity where it asks for none, null where it says nothing. */
export function readTokenLimit(value: number | null | undefined): number | null {
  return value === -1 ? Infinity : (value ?? null);
}
