// Limits of a chat request: lengths of its lists, and the token limit of its answer. Lists are checked before other
// code iterates over them or renders them, so that refusing an excessive list costs only a few look-ups.
import { Type } from "typebox";
import { ServiceError, type Fault } from "../../../base/domain/service-error.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { nullable } from "../nullable.ts";

/** Maximum counts and lengths in a chat request. */
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

/**
 * Refuses a body with lists or texts that exceed their limits.
 *
 * @throws ServiceError `invalid` with every list and text that exceeds its limit
 */
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
  // Looks into the messages only if no list is too long, because otherwise this could take long.
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
    const message = `The text has ${text.length} characters; at most ${chatStopCharacters} are allowed.`;
    return [{ location: ["body", ...place], message, type: "string_too_long" }];
  });
}

/**
 * Returns a fault if all bad words together are too long. The engine compares each of them with the end of the answer
 * after every token.
 */
function longBadWords(words: unknown, { chatBadWordCharacters }: ChatLimits): readonly Fault[] {
  const texts: readonly unknown[] = Array.isArray(words) ? words : [];
  const length = texts.reduce((sum: number, text) => sum + (typeof text === "string" ? text.length : 0), 0);
  if (length <= chatBadWordCharacters) return [];
  const message = `The bad words have ${length} characters together; at most ${chatBadWordCharacters} are allowed.`;
  return [{ location: ["body", "bad_words"], message, type: "too_long" }];
}

/** Returns a fault if the value is a list that exceeds its maximum length; otherwise empty. */
export function longList(place: readonly string[], value: unknown, countMax: number): readonly Fault[] {
  if (!Array.isArray(value) || value.length <= countMax) return [];
  const message = `The list has ${value.length} items; at most ${countMax} are allowed.`;
  return [{ location: ["body", ...place], message, type: "too_long" }];
}

// -1 means no limit, as in LM Studio and llama.cpp.
/** Schema of a token limit. It allows 0, which {@link checkTokenLimit} refuses. */
export const tokenLimitSchema = () => nullable(Type.Integer({ minimum: -1 }));

export const tokenLimitRange = "at least 1, or -1 for no limit";

/**
 * Adds a fault if a token limit is 0, which a schema with the minimum -1 cannot exclude. Receives the value unchecked.
 */
export function checkTokenLimit(value: unknown, field: string, findings: Findings): void {
  if (value !== 0) return;
  const message = "Input should be greater than or equal to 1, or -1 for no limit (got 0)";
  report(findings, "greater_than_equal", message, field);
}

/** Returns the token limit of a checked body: Infinity for -1, null if the limit is absent. */
export function readTokenLimit(value: number | null | undefined): number | null {
  return value === -1 ? Infinity : (value ?? null);
}
