// Converts messages of every convention to messages of OpenAI's chat API. It understands parts as in the GenAI
// conventions, in the AI SDK and in Anthropic's API; other parts and members stay as they are.
import {
  exactJsonText,
  isExactList,
  isExactObject,
  type ExactJson,
  type ExactJsonObject,
} from "../../base/domain/text/exact-json.ts";

/** Content of a message that is being collected from its parts. */
interface Collected {
  readonly content: ExactJson[];
  readonly thoughts: string[];
  readonly calls: ExactJsonObject[];
  readonly results: ExactJsonObject[];
}

type AddPart = (part: ExactJsonObject, to: Collected) => void;

const addText: AddPart = (part, { content }) =>
  content.push({ type: "text", text: textOf(part["text"] ?? part["content"]) });
const addThought: AddPart = (part, { thoughts }) =>
  thoughts.push(textOf(part["text"] ?? part["content"] ?? part["thinking"]));
const addCall: AddPart = (part, { calls }) => {
  const { id, name, input, args } = part;
  calls.push(
    toolCall(id ?? part["toolCallId"], name ?? part["toolName"], part["arguments"] ?? input ?? args),
  );
};
const addResult: AddPart = (part, { results }) => {
  const id = part["id"] ?? part["toolCallId"] ?? part["tool_use_id"] ?? null;
  const result = part["response"] ?? part["result"] ?? part["output"] ?? part["content"] ?? null;
  results.push({ role: "tool", tool_call_id: id, content: textOf(resultValue(result)) });
};

/** Handlers of message parts. The key is the kind of the part; a kind has an entry for each of its names. */
const parts: Readonly<Record<string, AddPart>> = {
  text: addText,
  input_text: addText,
  output_text: addText,
  reasoning: addThought,
  thinking: addThought,
  tool_call: addCall,
  "tool-call": addCall,
  tool_use: addCall,
  tool_call_response: addResult,
  "tool-result": addResult,
  tool_result: addResult,
};

/** Converts a list of messages, an object with such a list, a single message, or a text of the given role. */
export function messagesOf(value: ExactJson | undefined, role = "user"): readonly ExactJsonObject[] {
  if (value === undefined || value === null) return [];
  const inside = isExactObject(value) && value["role"] === undefined ? value["messages"] : undefined;
  const whole = inside !== undefined && isExactList(inside) ? inside : value;
  const list = isExactList(whole) ? whole : [whole];
  return list.flatMap((item) =>
    isExactObject(item) ? messageOf(item, role) : [{ role, content: textOf(item) }],
  );
}

/** Converts one message. Each tool result in it becomes a separate message. */
function messageOf(message: ExactJsonObject, role: string): readonly ExactJsonObject[] {
  const { parts: genAiParts, content, finish_reason: _, ...others } = message;
  const base = { ...others, role: typeof message["role"] === "string" ? message["role"] : role };
  const list = genAiParts ?? content;
  if (list === undefined && message["tool_calls"] === undefined) {
    // This is not a message, but an input or output in a form that the program chose.
    return [{ role: base.role, content: exactJsonText(message) }];
  }
  if (list === undefined || !isExactList(list)) return [{ ...base, content: content ?? null }];
  const collected: Collected = { content: [], thoughts: [], calls: [], results: [] };
  for (const part of list) addPart(part, collected);
  const { thoughts, calls, results } = collected;
  const isOnlyResults = results.length > 0 && collected.content.length === 0 && calls.length === 0;
  const own = {
    ...base,
    content: contentOf(collected.content, calls.length > 0),
    ...(thoughts.length === 0 ? {} : { reasoning_content: thoughts.join("\n") }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return isOnlyResults ? results : [own, ...results];
}

function addPart(part: ExactJson, to: Collected): void {
  const type = isExactObject(part) ? part["type"] : undefined;
  if (!isExactObject(part)) to.content.push({ type: "text", text: textOf(part) });
  else if (typeof type === "string" && Object.hasOwn(parts, type)) parts[type](part, to);
  else to.content.push(part);
}

/**
 * Returns a message's content: its text if it has only one text part. If it has no parts, returns null if the message
 * has tool calls, else an empty text.
 */
function contentOf(content: readonly ExactJson[], hasCalls: boolean): ExactJson {
  if (content.length === 0) return hasCalls ? null : "";
  const [first] = content;
  const isText = content.length === 1 && isExactObject(first) && first["type"] === "text";
  return isText ? first["text"] : content;
}

/** Returns a call of a tool in OpenAI's form. Arguments become JSON text, unless they are a text already. */
export function toolCall(
  id: ExactJson | undefined,
  name: ExactJson | undefined,
  given: ExactJson | undefined,
): ExactJsonObject {
  return {
    id: id ?? null,
    type: "function",
    function: { name: name ?? "", arguments: textOf(given ?? {}) },
  };
}

/** Converts a definition of a tool to OpenAI's form; null for a value that defines no tool. */
export function toolOf(value: ExactJson): ExactJsonObject | null {
  if (!isExactObject(value)) return null;
  if (value["function"] !== undefined) return value;
  const { name, description, parameters, inputSchema, input_schema: schema } = value;
  if (typeof name !== "string") return null;
  const definition: Record<string, ExactJson> = { name };
  if (description !== undefined) definition["description"] = description;
  definition["parameters"] = parameters ?? inputSchema ?? schema ?? {};
  return { type: "function", function: definition };
}

/** Returns a tool's result. If the AI SDK wrapped it in an object with a `type`, unwraps it. */
function resultValue(result: ExactJson): ExactJson {
  if (!isExactObject(result) || typeof result["type"] !== "string") return result;
  return ["json", "text", "error-json", "error-text"].includes(result["type"])
    ? (result["value"] ?? null)
    : result;
}

function textOf(value: ExactJson | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : exactJsonText(value);
}
