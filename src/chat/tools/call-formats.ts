// Every format of calls by the name that the operator may give it, and which of them a model's chat template writes.
import { plainConversation } from "../../domain/chat.ts";
import { ServiceError } from "../../domain/service-error.ts";
import type { JsonObject, MessageRecord } from "../../domain/trajectory.ts";
import type { ChatTemplate } from "../../tokenizer/chat-template.ts";
import { createReplyReader } from "../reply/reply-reader.ts";
import { thoughtMarks } from "../reply/read-thought.ts";
import type { CallFormat } from "./call-format.ts";
import { hermes } from "./hermes.ts";
import { llama3 } from "./llama3.ts";
import { mistralList, mistralNamed } from "./mistral.ts";

export const callFormats = {
  hermes,
  llama3,
  mistral: mistralList,
  "mistral-named": mistralNamed,
} as const satisfies Readonly<Record<string, CallFormat>>;

/** A call that no template has of itself; its id is one that every template takes. */
const probe = { name: "probe_function", arguments: { probe_argument: "probe value" } };

/**
 * The format that reads back the call which a template writes; null where none does.
 */
export function detectCallFormat(template: ChatTemplate): CallFormat | null {
  const turn = writtenTurn(template);
  if (turn === null) return null;
  // One reader takes both of Mistral's layouts; what it is asked to write is told apart by the mark of the newer one.
  const candidates = [hermes, turn.includes("[ARGS]") ? mistralNamed : mistralList, llama3];
  return candidates.find((format) => readsProbe(format, turn)) ?? null;
}

function readsProbe(format: CallFormat, turn: string): boolean {
  const calls = { format, names: new Set([probe.name]), areParallel: true };
  const reader = createReplyReader({ thought: "none", calls });
  const pieces = reader === null ? [] : [reader.push(turn), reader.end()];
  const deltas = pieces.flatMap(({ toolCalls }) => toolCalls);
  const written = deltas.map(({ argumentsText }) => argumentsText).join("");
  return (
    reader?.callCount === 1 &&
    deltas[0].name === probe.name &&
    JSON.stringify(parsed(written)) === JSON.stringify(probe.arguments)
  );
}

/** What a template writes for an answer that is the probe; null where it writes none. */
function writtenTurn(template: ChatTemplate): string | null {
  const user = { role: "user", content: "probe" };
  const call = { id: "probe1234", type: "function", function: probe };
  const answer = { role: "assistant", content: null, tool_calls: [call] };
  const tools = [{ type: "function", function: { name: probe.name, description: "A probe.", parameters } }];
  const render = (messages: readonly MessageRecord[], addGenerationPrompt: boolean): string =>
    template.render({ ...plainConversation, messages, tools, addGenerationPrompt });
  try {
    const before = withoutThought(render([user], true));
    const whole = render([user, answer], false);
    return whole.startsWith(before) ? whole.slice(before.length) : null;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return null;
  }
}

/** With descriptions, since some templates show them without asking whether there are any. */
const parameters: JsonObject = {
  type: "object",
  properties: { probe_argument: { type: "string", description: "A probe." } },
};

/** A prompt without the thought that it opens, or leaves out: templates write earlier answers without their thoughts. */
function withoutThought(prompt: string): string {
  const begin = prompt.lastIndexOf(thoughtMarks.begin);
  if (begin < 0) return prompt;
  const rest = prompt.slice(begin + thoughtMarks.begin.length).trim();
  return rest === "" || rest === thoughtMarks.end ? prompt.slice(0, begin) : prompt;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
