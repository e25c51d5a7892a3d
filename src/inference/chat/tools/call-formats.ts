// All call formats by their names in settings. Detects the format in which a model's chat template writes calls.
import { plainConversation } from "../../../base/domain/chat.ts";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import type { MessageRecord } from "../../../base/domain/trajectory.ts";
import type { ChatTemplate } from "../../chat-templates/chat-template.ts";
import { createReplyReader } from "../reply/reply-reader.ts";
import { knownMarks } from "../reply/read-thought.ts";
import type { CallFormat } from "./call-format.ts";
import { builtInFormats } from "./formats/built-in-formats.ts";
import { describedFormat } from "./formats/described-format.ts";
import { harmonyFormat } from "./formats/harmony-format.ts";
import { loadFormatDescription } from "./formats/read-description.ts";

type BuiltInName = keyof typeof builtInFormats;

// Safe cast: the entries have the names of the built-in formats.
const described = Object.fromEntries(
  Object.entries(builtInFormats).map(([name, description]) => [
    name,
    describedFormat({ name, ...description }),
  ]),
) as Readonly<Record<BuiltInName, CallFormat>>;

/** Built-in formats by name, which operators need not describe. */
export const callFormats = { ...described, harmony: harmonyFormat };

/**
 * Loads the formats that the operator describes in files.
 *
 * @throws ServiceError `invalid` for a file without a valid description, or with a name that is taken
 */
export async function loadCallFormats(files: readonly string[]): Promise<readonly CallFormat[]> {
  const descriptions = await Promise.all(files.map(loadFormatDescription));
  const names = ["auto", "off", ...Object.keys(callFormats)];
  for (const { name } of descriptions) {
    if (names.includes(name))
      throw invalid(
        `chat.toolFormats describes ${JSON.stringify(name)}, a name that another format has; give it a different one.`,
      );
    names.push(name);
  }
  return descriptions.map(describedFormat);
}

/** Example call for detecting a template's format. No template contains its words. */
const probe = { name: "probe_function", arguments: { probe_argument: "probe value" } };

/**
 * Returns the format in which a template writes a call; null if no format fits. Prefers the first format that writes
 * the call identically, then the first that can read the template's call, then the first whose hint the template
 * contains.
 */
export function detectCallFormat(
  template: ChatTemplate,
  formats: readonly CallFormat[] = Object.values(callFormats),
): CallFormat | null {
  const ids = new Set(formats.map(probeId));
  const turns = new Map([...ids].map((id) => [id, writtenTurn(template, id)]));
  const turnOf = (format: CallFormat): string | null => turns.get(probeId(format)) ?? null;
  const readers = formats.filter((format) => readsProbe(format, turnOf(format) ?? ""));
  const writesAlike = (format: CallFormat): boolean =>
    turnOf(format)?.includes(format.written(probe.name, probe.arguments)) === true;
  const hinted = formats.find(({ hint }) => hint !== undefined && template.mentions(hint));
  return readers.find(writesAlike) ?? readers[0] ?? hinted ?? null;
}

function readsProbe(format: CallFormat, turn: string): boolean {
  const functions = new Map([[probe.name, parameters]]);
  const calls = { format, functions, areParallel: true, isConstrained: false, texts: new Set<string>() };
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

/**
 * Returns an id for the example call. If the format's ids depend only on the call, returns that id; otherwise returns
 * an id that every template accepts.
 */
function probeId(format: CallFormat): string {
  const id = format.newCallId(probe.name, 0);
  return id === format.newCallId(probe.name, 0) ? id : "probe1234";
}

/**
 * Renders an answer that contains only the example call, with this id. Returns the text that the template writes for
 * it; null if it writes none.
 */
function writtenTurn(template: ChatTemplate, id: string): string | null {
  const user = { role: "user", content: "probe" };
  const call = { id, type: "function", function: probe };
  const answerWith = (content: string | null) => ({ role: "assistant", content, tool_calls: [call] });
  const tools = [{ type: "function", function: { name: probe.name, description: "A probe.", parameters } }];
  const render = (messages: readonly MessageRecord[], addGenerationPrompt: boolean): string =>
    template.render({ ...plainConversation, messages, tools, addGenerationPrompt });
  // Some templates index a message's content, so they fail if the content is null.
  for (const content of [null, ""])
    try {
      const before = withoutThought(render([user], true));
      const whole = render([user, answerWith(content)], false);
      if (whole.startsWith(before)) return whole.slice(before.length);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
    }
  return null;
}

/**
 * Parameters of the example tool. They have descriptions, because some templates render descriptions without checking
 * that they exist.
 */
const parameters: JsonObject = {
  type: "object",
  properties: { probe_argument: { type: "string", description: "A probe." } },
};

/**
 * Removes the end of a prompt if it opens a thought or writes an empty one. Templates write earlier answers without
 * thoughts, so such an end would differ from what the template writes there.
 */
function withoutThought(prompt: string): string {
  for (const { begin, end } of knownMarks) {
    const at = prompt.lastIndexOf(begin);
    if (at < 0) continue;
    const rest = prompt.slice(at + begin.length).trim();
    if (rest === "" || rest === end) return prompt.slice(0, at);
  }
  return prompt;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
