// A chat template for a model whose own template does not support tools: shows the tools in the system message, and
// calls and results as text in the messages. Serving and training both render through it. It does not parse answers:
// the model is asked to write calls in the format `generic` of inference/chat/tools, which is parsed there.
import { plainConversation, type Conversation } from "../../base/domain/chat.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { joinedText } from "../../base/domain/content-part.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { parseExactJson, type ExactJson } from "../../base/domain/text/exact-json.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/domain/text/json.ts";
import type { MessageRecord } from "../../base/domain/trajectory.ts";
import { Budget } from "../../lib/jinja/budget.ts";
import { fromJson, toJson } from "../../lib/jinja/json-text.ts";
import type { ChatTemplate } from "./chat-template.ts";

/**
 * Returns a chat template that renders tools as text. A template that came with the request still gets tools as
 * objects.
 *
 * If the model's template refuses system messages, the tools are shown before the first other message.
 */
export function withToolsAsText(template: ChatTemplate, clock: Clock): ChatTemplate {
  let takesSystem: boolean | null = null;
  return {
    ...template,
    render: (conversation, limits) => {
      takesSystem ??= showsSystemMessages(template);
      const budget = new Budget(limits ?? null, clock);
      return template.render(toolsAsText(conversation, { takesSystem, budget }), limits);
    },
  };
}

function showsSystemMessages(template: ChatTemplate): boolean {
  const probe = "a probe of the system";
  const messages = [
    { role: "system", content: probe },
    { role: "user", content: "a probe" },
  ];
  try {
    return template.render({ ...plainConversation, messages }).includes(probe);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return false;
  }
}

interface Means {
  readonly takesSystem: boolean;
  readonly budget: Budget;
}

function toolsAsText(conversation: Conversation, means: Means): Conversation {
  const { tools, messages } = conversation;
  const written = joinedResults(messages.map((message) => withoutCalls(message, means.budget)));
  if (tools === null || tools.length === 0) return { ...conversation, tools: null, messages: written };
  const shown = toolsText(tools, means.budget);
  return { ...conversation, tools: null, messages: withInstruction(written, shown, means.takesSystem) };
}

/**
 * Options with which JSON is written as Python's `json` module writes it, because models were trained on prompts in
 * this form.
 */
const jsonForm = {
  indent: null,
  itemSeparator: ", ",
  keySeparator: ": ",
  sortKeys: false,
  ensureAscii: false,
};

function jsonOf(value: ExactJson, budget: Budget): string {
  return toJson(fromJson(value), jsonForm, budget);
}

function toolsText(tools: readonly JsonObject[], budget: Budget): string {
  return [
    "You can call functions. These are there, a JSON object in each line:",
    "<tools>",
    ...tools.map((tool) => jsonOf(tool, budget)),
    "</tools>",
    "",
    "To call one, write its name and its arguments as a JSON object between <tool_call> and </tool_call>, and nothing behind it but further calls:",
    "<tool_call>",
    '{"name": "the name of the function", "arguments": {"the name of an argument": "its value"}}',
    "</tool_call>",
    "",
    "What comes of your calls stands between <tool_response> and </tool_response> in the next message.",
  ].join("\n");
}

function withInstruction(
  messages: readonly MessageRecord[],
  shown: string,
  takesSystem: boolean,
): readonly MessageRecord[] {
  const [first, ...rest] = messages;
  const instructs = first !== undefined && ["system", "developer"].includes(first.role);
  if (instructs) return [{ ...first, content: followedBy(first.content ?? null, shown) }, ...rest];
  if (takesSystem || first === undefined) return [{ role: "system", content: shown }, ...messages];
  return [{ ...first, content: precededBy(first.content ?? null, shown) }, ...rest];
}

/**
 * Appends a text to a content. A list of parts stays a list, so that a fault in one part is still located at that part.
 */
function followedBy(content: Json, text: string): Json {
  if (Array.isArray(content)) return [...content, { type: "text", text }];
  if (typeof content === "string" && content !== "") return `${content}\n\n${text}`;
  return content === null || content === "" ? text : content;
}

function precededBy(content: Json, text: string): Json {
  if (Array.isArray(content)) return [{ type: "text", text }, ...content];
  if (typeof content === "string" && content !== "") return `${text}\n\n${content}`;
  return content === null || content === "" ? text : content;
}

/** Returns a message whose tool calls are written into its text. */
function withoutCalls(message: MessageRecord, budget: Budget): MessageRecord {
  const { tool_calls: calls, ...rest } = message;
  if (!Array.isArray(calls) || calls.length === 0) return message;
  const said = joinedText(message.content ?? null) ?? "";
  const texts = calls.map((call: Json) => callText(call, budget));
  return { ...rest, content: [...(said.trim() === "" ? [] : [said]), ...texts].join("\n") };
}

function callText(call: Json, budget: Budget): string {
  const called = isJsonObject(call) && isJsonObject(call["function"]) ? call["function"] : {};
  const { name = null, arguments: given = null } = called;
  const text = `{"name": ${jsonOf(name, budget)}, "arguments": ${argumentsText(given, budget)}}`;
  return `<tool_call>\n${text}\n</tool_call>`;
}

/** Returns the arguments of a call as JSON text. Arguments that are not valid JSON stay as the model wrote them. */
function argumentsText(given: Json, budget: Budget): string {
  if (typeof given !== "string") return jsonOf(given ?? {}, budget);
  if (given.trim() === "") return "{}";
  try {
    return jsonOf(parseExactJson(given), budget);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return given;
  }
}

/**
 * Joins the results of one answer's calls into one user message, because templates without tools have no role for
 * results.
 */
function joinedResults(messages: readonly MessageRecord[]): readonly MessageRecord[] {
  const joined: MessageRecord[] = [];
  let results: string[] = [];
  const endResults = (): void => {
    if (results.length > 0) joined.push({ role: "user", content: results.join("\n") });
    results = [];
  };
  for (const message of messages) {
    if (message.role === "tool") {
      results.push(`<tool_response>\n${joinedText(message.content ?? null) ?? ""}\n</tool_response>`);
    } else {
      endResults();
      joined.push(message);
    }
  }
  endResults();
  return joined;
}
