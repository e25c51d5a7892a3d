// Conversations that a model is to learn, as a body holds them in a list and a file one a line: what is checked of them,
// and how they are stored. Messages are those of a chat; unknown keys are kept, since templates may show them.
import { Type, type Static, type TSchema } from "typebox";
import { textOfPart } from "../../domain/content-part.ts";
import type { AssistantTurns } from "../../domain/supervised/supervised-config.ts";
import type { ExampleConversation } from "../../domain/supervised/conversation.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { foldedLine } from "../../domain/text/folded-lines.ts";
import type { Json } from "../../domain/trajectory.ts";
import { check } from "../../validation/check.ts";
import {
  isAtFaultLimit,
  isObject,
  newFindings,
  refuseFaults,
  report,
  type Findings,
} from "../../validation/findings.ts";
import { parseJsonBody, type JsonLimits } from "../../validation/json-body.ts";
import type { BodyLimits } from "../body-limits.ts";
import { messageSchema } from "../chat/fields/conversation-fields.ts";
import { nullable } from "../nullable.ts";
import { LinePacker, type PackedLines } from "../packed-lines.ts";
import { promptFields } from "../trajectory.ts";

const open = { additionalProperties: true };

export const conversationSchema = Type.Object(
  {
    messages: Type.Array(
      Type.Object(
        {
          ...messageSchema.properties,
          weight: nullable(Type.Integer({ minimum: 0, maximum: 1 }), {
            default: 1,
            description: "Of an assistant's message: 0 makes it context that does not train.",
          }),
        },
        { ...open, title: "ExampleMessage" },
      ),
      { minItems: 1, description: "The conversation; what the assistant says in it trains." },
    ),
    tools: nullable(Type.Array(Type.Object({}, open)), { description: "The tools that the request has." }),
    ...promptFields,
  },
  { ...open, title: "ExampleConversation" },
);

/** The same, without what its type says of its members. */
const schema: TSchema = conversationSchema;

/** Conversations as they are stored, and how many there are. */
export interface StoredConversations {
  readonly lines: PackedLines;
  readonly conversationCount: number;
}

/** Checks conversations one by one, and keeps them as long as nothing was wrong. */
export class ConversationReader {
  readonly #findings: Findings;
  readonly #turns: AssistantTurns;
  readonly #lines = new LinePacker();
  #count = 0;

  /** @param turns where only the last message trains, it has to be the assistant's */
  constructor(findings: Findings, turns: AssistantTurns = "all") {
    this.#findings = findings;
    this.#turns = turns;
  }

  /** @param place below where the findings stand */
  read(value: unknown, ...place: readonly string[]): void {
    const findings = this.#findings;
    findings.path.push(...place);
    check(schema, value, findings);
    if (isObject(value)) checkMessages(value["messages"], this.#turns, findings);
    findings.path.length -= place.length;
    this.#count += 1;
    if (findings.faultCount > 0) return;
    // The walk found nothing that differs from the schema.
    const conversation = toConversation(value as Static<typeof conversationSchema>);
    for (const part of foldedLine(JSON.stringify(conversation))) this.#lines.add(part);
  }

  get stored(): StoredConversations {
    return { lines: this.#lines.packed(), conversationCount: this.#count };
  }
}

function toConversation({
  messages,
  tools,
  ...extra
}: Static<typeof conversationSchema>): ExampleConversation {
  // All of these came out of JSON.
  return { messages, tools: tools ?? null, extra } as ExampleConversation;
}

/** Adds what the schema cannot say: what the assistant says, and that some of it trains. */
function checkMessages(messages: unknown, turns: AssistantTurns, findings: Findings): void {
  if (!Array.isArray(messages)) return;
  const last: unknown = messages.at(-1);
  if (turns === "last" && isObject(last) && last["role"] !== "assistant") {
    const fault =
      'With assistant_turns "last" the last message trains; it must be the assistant\'s. Leave off what follows its answer.';
    report(findings, "value_error", fault, "messages", String(messages.length - 1), "role");
  }
  let hasAnswer = false;
  messages.forEach((message: unknown, index) => {
    if (!isObject(message)) return;
    const place = ["messages", String(index)];
    checkContent(message["content"], findings, place);
    if (message["role"] !== "assistant") return;
    hasAnswer ||= message["weight"] !== 0;
    const calls = message["tool_calls"];
    if (isObject(message["function_call"])) {
      const fault =
        'function_call is the older spelling of a call: send it in tool_calls, as [{type: "function", function: {name, arguments}}].';
      report(findings, "unsupported", fault, ...place, "function_call");
    } else if (Array.isArray(calls) && calls.length > 0) checkCalls(calls, findings, place);
    else if ((message["content"] ?? "") === "") {
      report(findings, "missing", "An assistant's message needs content or tool_calls.", ...place, "content");
    }
  });
  if (hasAnswer || messages.length === 0) return;
  const message = "No message of the assistant trains; give at least one without the weight 0.";
  report(findings, "value_error", message, "messages");
}

function checkContent(content: unknown, findings: Findings, place: readonly string[]): void {
  if (!Array.isArray(content)) return;
  content.forEach((part: Json, index) => {
    if (textOfPart(part) !== null) return;
    report(findings, "unsupported", "Only text trains.", ...place, "content", String(index));
  });
}

/** Templates show arguments as objects. */
function checkCalls(calls: readonly unknown[], findings: Findings, place: readonly string[]): void {
  calls.forEach((call, index) => {
    const called = isObject(call) && isObject(call["function"]) ? call["function"] : null;
    const at = [...place, "tool_calls", String(index), "function"];
    if (called === null || typeof called["name"] !== "string") {
      return report(findings, "missing", "A call needs the name of its function.", ...at, "name");
    }
    const { arguments: text } = called;
    if (typeof text === "string" && !isJson(text))
      report(findings, "json_invalid", "The arguments of a call are JSON.", ...at, "arguments");
  });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The file that a job names, and one that comes as the part of a form: where their faults stand. */
const filePlaces = { "conversation file": "training_data_url", "uploaded file": "file" } as const;

/**
 * Reads a file of conversations, one a line as JSON.
 *
 * @throws ServiceError `invalid` with every fault, each with its line
 */
export function readConversationFile(
  bytes: Buffer,
  { trajectoryGroups: countMax, trajectoryJson }: Pick<BodyLimits, "trajectoryGroups" | "trajectoryJson">,
  kind: keyof typeof filePlaces,
): StoredConversations {
  const findings = newFindings("body", filePlaces[kind]);
  const reader = new ConversationReader(findings);
  let number = 0;
  for (const line of linesOf(bytes)) {
    number += 1;
    if (number > countMax) {
      const message = `The file has more than ${countMax} lines; at most so many conversations are taken at once. Send them in several jobs.`;
      report(findings, "too_long", message);
      break;
    }
    const place = `line ${number}`;
    const value = parsed(line, trajectoryJson, (type, message) => report(findings, type, message, place));
    if (value !== undefined) reader.read(value, place);
    if (isAtFaultLimit(findings)) break;
  }
  if (number === 0) report(findings, "too_short", "The file holds no conversation.");
  refuseFaults(findings);
  return reader.stored;
}

/** Undefined where the line is no JSON, which is added as a fault. */
function parsed(
  line: Buffer,
  limits: JsonLimits,
  addFault: (type: string, message: string) => void,
): unknown {
  try {
    const value = parseJsonBody(line, limits);
    if (value === undefined) addFault("missing", "The line is empty.");
    return value;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    for (const { type, message } of error.faults) addFault(type, message);
    return undefined;
  }
}

const [lineFeed, carriageReturn] = [0x0a, 0x0d];
const byteOrderMark = Buffer.from("\uFEFF");

/** Without line ends; the blank ones at the end are none. */
function* linesOf(bytes: Buffer): Generator<Buffer> {
  let start = bytes.subarray(0, 3).equals(byteOrderMark) ? 3 : 0;
  let end = bytes.length;
  while (end > start && [lineFeed, carriageReturn, 0x20].includes(bytes[end - 1])) end -= 1;
  while (start < end) {
    const feed = bytes.indexOf(lineFeed, start);
    const next = feed < 0 || feed > end ? end : feed;
    const isReturned = next > start && bytes[next - 1] === carriageReturn;
    yield bytes.subarray(start, isReturned ? next - 1 : next);
    start = next + 1;
  }
}
