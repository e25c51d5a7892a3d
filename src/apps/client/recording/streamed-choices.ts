// Merges the chunks of a streamed answer into choices, as in an answer that is not streamed.
import type { JsonObject } from "./model-request.ts";

interface Growing {
  readonly texts: Record<string, string>;
  role: unknown;
  readonly toolCalls: Record<string, unknown>[];
  logprobs: unknown[] | null;
  readonly tokenIds: number[];
  promptTokenIds: unknown;
  finish: JsonObject;
}

const textNames = ["content", "refusal", "reasoning", "reasoning_content"];

export class StreamedChoices {
  readonly #choices: Growing[] = [];
  #promptTokenIds: unknown;

  /** Adds a parsed chunk. */
  add(chunk: JsonObject): void {
    // The prompt's tokens are sent once, in the first chunk.
    this.#promptTokenIds ??= chunk["prompt_token_ids"];
    for (const choice of listIn(chunk, "choices")) {
      const index = Number(choice["index"] ?? 0);
      addChoice((this.#choices[index] ??= nothing()), choice);
    }
  }

  /** Returns the choices with their tokens; `finish_reason` is null if the stream ended early. */
  choices(): readonly JsonObject[] {
    return this.#choices.map((choice, index) => ({
      index,
      message: messageOf(choice),
      logprobs: choice.logprobs && { content: choice.logprobs, refusal: null },
      ...choice.finish,
      token_ids: choice.tokenIds,
      prompt_token_ids: choice.promptTokenIds ?? this.#promptTokenIds,
    }));
  }
}

function nothing(): Growing {
  return {
    texts: {},
    role: "assistant",
    toolCalls: [],
    logprobs: null,
    tokenIds: [],
    promptTokenIds: undefined,
    finish: { finish_reason: null },
  };
}

function addChoice(growing: Growing, choice: JsonObject): void {
  const { delta = {}, logprobs, token_ids: ids, prompt_token_ids: prompt, index: _index, ...finish } = choice;
  addDelta(growing, delta as JsonObject);
  const entries = (logprobs as JsonObject | null | undefined)?.["content"];
  if (Array.isArray(entries)) growing.logprobs = [...(growing.logprobs ?? []), ...(entries as unknown[])];
  if (Array.isArray(ids)) growing.tokenIds.push(...(ids as number[]));
  growing.promptTokenIds ??= prompt;
  if ((finish["finish_reason"] ?? null) !== null) growing.finish = finish;
}

function addDelta(growing: Growing, delta: JsonObject): void {
  growing.role = delta["role"] ?? growing.role;
  for (const name of textNames) {
    const piece = delta[name];
    if (typeof piece === "string") growing.texts[name] = (growing.texts[name] ?? "") + piece;
  }
  for (const { index, ...piece } of listIn(delta, "tool_calls")) {
    const at = Number(index ?? 0);
    growing.toolCalls[at] = joined(growing.toolCalls[at] ?? {}, piece);
  }
}

/** Appends a chunk's fragment to a tool call: names and ids are sent once, arguments in parts. */
function joined(call: Record<string, unknown>, piece: JsonObject): Record<string, unknown> {
  const next: Record<string, unknown> = { ...call };
  for (const [name, value] of Object.entries(piece)) {
    if (name !== "function" && name !== "custom") next[name] = value;
    else next[name] = joinedTexts((call[name] ?? {}) as JsonObject, value as JsonObject);
  }
  return next;
}

function joinedTexts(before: JsonObject, piece: JsonObject): JsonObject {
  const next: Record<string, unknown> = { ...before };
  for (const [name, value] of Object.entries(piece)) {
    const isBehind = name === "arguments" || name === "input";
    next[name] = isBehind ? textOf(before[name]) + textOf(value) : value;
  }
  return next;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function messageOf({ role, texts, toolCalls }: Growing): JsonObject {
  const thought = texts["reasoning"] || texts["reasoning_content"] || null;
  const isSilent = !texts["content"] && (toolCalls.length > 0 || thought !== null);
  return {
    role,
    content: isSilent ? null : (texts["content"] ?? ""),
    refusal: texts["refusal"] ?? null,
    annotations: null,
    audio: null,
    function_call: null,
    tool_calls: toolCalls,
    reasoning: thought,
    reasoning_content: thought,
  };
}

function listIn(object: JsonObject, name: string): readonly JsonObject[] {
  const list = object[name];
  return Array.isArray(list) ? (list as readonly JsonObject[]) : [];
}
