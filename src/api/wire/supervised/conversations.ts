// Checks conversations for supervised fine-tuning, and converts them to their stored form. They come from a list in a
// body, or from a file with one conversation per line. Unknown keys of messages are kept, because chat templates may
// use them.
import { Type, type Static, type TSchema } from "typebox";
import type { AssistantTurns } from "../../../base/domain/supervised/supervised-config.ts";
import type { ExampleConversation } from "../../../base/domain/supervised/conversation.ts";
import { foldedLine } from "../../../base/domain/text/folded-lines.ts";
import { check } from "../../../base/validation/check.ts";
import {
  isObject,
  newFindings,
  refuseFaults,
  report,
  type Findings,
} from "../../../base/validation/findings.ts";
import type { BodyLimits } from "../body-limits.ts";
import { nullable } from "../nullable.ts";
import { LinePacker, type PackedLines } from "../packed-lines.ts";
import { promptFields } from "../trajectory.ts";
import { checkExampleMessages, exampleMessageSchema } from "./example-messages.ts";
import { readLineFile } from "./line-file.ts";

const open = { additionalProperties: true };

export const conversationSchema = Type.Object(
  {
    messages: Type.Array(exampleMessageSchema, {
      minItems: 1,
      description: "Messages of the conversation, oldest first. The assistant's messages are trained on.",
    }),
    tools: nullable(Type.Array(Type.Object({}, open)), {
      description: "Tools of the conversation, in the form of a chat request.",
    }),
    ...promptFields,
  },
  { ...open, title: "ExampleConversation" },
);

/** The type TSchema hides the types of the members: this module checks them itself. */
const schema: TSchema = conversationSchema;

/** Conversations in their stored form, and their number. */
export interface StoredConversations {
  readonly lines: PackedLines;
  readonly conversationCount: number;
}

/** Checks conversations one by one. Also packs them for storage until the first fault. */
export class ConversationReader {
  readonly #findings: Findings;
  readonly #turns: AssistantTurns;
  readonly #lines = new LinePacker();
  #count = 0;

  /** @param turns for `last`, a conversation must end with an assistant message, and only this message is trained */
  constructor(findings: Findings, turns: AssistantTurns = "all") {
    this.#findings = findings;
    this.#turns = turns;
  }

  /**
   * Checks a conversation, and packs it for storage.
   *
   * @param place path of the conversation, relative to the findings' current path
   */
  read(value: unknown, ...place: readonly string[]): void {
    const findings = this.#findings;
    findings.path.push(...place);
    check(schema, value, findings);
    if (isObject(value)) checkMessages(value["messages"], this.#turns, findings);
    findings.path.length -= place.length;
    this.#count += 1;
    if (findings.faultCount > 0) return;
    // Safe cast: the check against the schema found no fault.
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
  // Safe cast: parsed from JSON.
  return { messages, tools: tools ?? null, extra } as ExampleConversation;
}

/**
 * Adds faults that the schema cannot detect: faults of the assistant's messages, and a conversation in which no message
 * would be trained.
 */
function checkMessages(messages: unknown, turns: AssistantTurns, findings: Findings): void {
  if (!Array.isArray(messages)) return;
  const last: unknown = messages.at(-1);
  if (turns === "last" && isObject(last) && last["role"] !== "assistant") {
    const fault =
      'With assistant_turns "last" the last message trains; it must be the assistant\'s. Leave off what follows its answer.';
    report(findings, "value_error", fault, "messages", String(messages.length - 1), "role");
  }
  const { hasAnswer } = checkExampleMessages(messages, findings, ["messages"]);
  if (hasAnswer || messages.length === 0) return;
  const message = "No message of the assistant trains; give at least one without the weight 0.";
  report(findings, "value_error", message, "messages");
}

/**
 * Request field in which the faults of a file are reported. A job gives the file's URL, while an upload contains the
 * file in a form field.
 */
const fileFields = { "conversation file": "training_data_url", "uploaded file": "file" } as const;

/**
 * Reads a file that has one conversation per line, as JSON.
 *
 * @throws ServiceError `invalid` with every fault and the line of each
 */
export function readConversationFile(
  bytes: Buffer,
  limits: Pick<BodyLimits, "trajectoryGroups" | "trajectoryJson">,
  kind: keyof typeof fileFields,
): StoredConversations {
  const findings = newFindings("body", fileFields[kind]);
  const reader = new ConversationReader(findings);
  readLineFile(bytes, limits, {
    findings,
    holds: { one: "conversation", many: "conversations" },
    read: (value, place) => reader.read(value, place),
  });
  refuseFaults(findings);
  return reader.stored;
}
