// Words that a user searches for in messages. A message may contain them anywhere, also as parts of words, and in either
// case.
import type { Json, JsonObject } from "./json.ts";

/** Maximum number of characters of a search, and of words in it. Each word costs a scan of the stored texts. */
export const searchLengthMax = 200;
export const searchWordsMax = 10;

/** Returns the different words of a search, in lower case. */
export function wordsIn(search: string): readonly string[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return [...new Set(words)];
}

/** True if the texts of the messages together contain all the words, which are in lower case. */
export function containWords(messages: Iterable<JsonObject>, words: readonly string[]): boolean {
  let missing = words;
  for (const message of messages)
    for (const text of textsIn(message)) {
      const lower = text.toLowerCase();
      missing = missing.filter((word) => !lower.includes(word));
      if (missing.length === 0) return true;
    }
  return missing.length === 0;
}

/** Fields of messages whose texts nobody reads. */
const unread: ReadonlySet<string> = new Set([
  "role",
  "type",
  "id",
  "tool_call_id",
  "finish_reason",
  "logprobs",
  "token_ids",
  "prompt_token_ids",
]);

/** Yields the texts in a message: content, thoughts, and names and arguments of tool calls. */
function* textsIn(value: Json): Generator<string, void> {
  if (typeof value === "string") yield value;
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item as Json);
  else if (typeof value === "object" && value !== null)
    for (const [name, member] of Object.entries(value)) if (!unread.has(name)) yield* textsIn(member);
}

/**
 * Returns a pattern for SQL's LIKE that matches every JSON whose texts contain the word, and few others. LIKE ignores
 * the case of only the letters A to Z, so `%` replaces other letters that have a case. It also replaces characters that
 * JSON escapes.
 */
export function patternOf(word: string): string {
  const kept = Array.from(word, (character) => {
    if (/^[\x20-\x7e]$/.test(character)) return character === '"' || character === "\\" ? "%" : character;
    const hasCase = character.toLowerCase() !== character.toUpperCase();
    return hasCase || /^[\p{Cc}\p{Cs}]$/u.test(character) ? "%" : character;
  });
  return `%${kept.join("")}%`.replaceAll(/%+/g, "%");
}
