// Answers as their caller would have got them without a recorder: what of tokens it did not ask for is taken out again.
import type { Asked, JsonObject } from "./model-request.ts";

/** A whole answer, or a chunk of a streamed one; null for a chunk that without its tokens says nothing. */
export function seenAnswer(answer: JsonObject, asked: Asked): JsonObject | null {
  const { choices } = answer;
  if (!Array.isArray(choices)) return answer;
  const seen = (choices as readonly JsonObject[]).map((choice) => seenChoice(choice, asked));
  const showsTokens = asked.tokens || asked.logprobs || Object.hasOwn(answer, "usage");
  if (!showsTokens && seen.length > 0 && seen.every(saysNothing)) return null;
  const hidesPrompt = Object.hasOwn(answer, "prompt_token_ids") && !asked.promptBesideChoices;
  return { ...answer, choices: seen, ...(hidesPrompt ? { prompt_token_ids: null } : {}) };
}

function seenChoice(choice: JsonObject, asked: Asked): JsonObject {
  const { prompt_token_ids: prompt, ...rest } = choice;
  return {
    ...rest,
    ...(asked.logprobs ? {} : hidden(choice, "logprobs")),
    ...(asked.tokens ? {} : hidden(choice, "token_ids")),
    ...(asked.promptInChoices && prompt !== undefined ? { prompt_token_ids: prompt } : {}),
  };
}

function hidden(choice: JsonObject, name: string): JsonObject {
  return Object.hasOwn(choice, name) ? { [name]: null } : {};
}

/** Of a chunk: a token whose text is held back, or is none, comes by itself only where something is shown of tokens. */
function saysNothing({ delta, finish_reason: finish }: JsonObject): boolean {
  if (typeof delta !== "object" || delta === null || (finish ?? null) !== null) return false;
  return Object.values(delta).every((value) => value === null || value === "");
}
