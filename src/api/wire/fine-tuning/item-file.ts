// Reads files of items for reinforcement jobs. Each line contains the messages of a prompt, and any fields that the
// grader uses.
import { Type, type TSchema } from "typebox";
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
import { checkExampleMessage, exampleMessageSchema } from "../supervised/example-messages.ts";
import { readLineFile } from "../supervised/line-file.ts";

export interface CheckedItems {
  readonly itemCount: number;
}

const itemSchema: TSchema = Type.Object(
  {
    messages: Type.Array(exampleMessageSchema, { minItems: 1 }),
    tools: nullable(Type.Array(Type.Object({}, { additionalProperties: true }))),
  },
  { additionalProperties: true },
);

/** Request field in which the faults of a file are reported. */
const fileFields = {
  "item file": "training_file",
  "validation file": "validation_file",
  "uploaded file": "file",
} as const;

/**
 * Checks a file of items.
 *
 * @throws ServiceError `invalid` with every fault and the line of each
 */
export function checkItemFile(
  bytes: Buffer,
  limits: Pick<BodyLimits, "trajectoryGroups" | "trajectoryJson">,
  kind: keyof typeof fileFields,
): CheckedItems {
  const findings = newFindings("body", fileFields[kind]);
  let itemCount = 0;
  readLineFile(bytes, limits, {
    findings,
    holds: { one: "item", many: "items" },
    read: (value, place) => {
      itemCount += 1;
      findings.path.push(place);
      checkItem(value, findings);
      findings.path.length -= 1;
    },
  });
  refuseFaults(findings);
  return { itemCount };
}

function checkItem(value: unknown, findings: Findings): void {
  if (!check(itemSchema, value, findings) || !isObject(value)) return;
  const messages: readonly unknown[] = Array.isArray(value["messages"]) ? value["messages"] : [];
  messages.forEach((message, index) => checkExampleMessage(message, findings, ["messages", String(index)]));
  const last = messages.at(-1);
  if (!isObject(last) || last["role"] !== "assistant") return;
  const message = "The model answers the last message, so it must not be the assistant's.";
  report(findings, "value_error", message, "messages", String(messages.length - 1), "role");
}

/** True if the parsed line of a file is an item. The last message of an item is one that a model would answer. */
export function isItem(value: unknown): boolean {
  if (!isObject(value) || !Array.isArray(value["messages"])) return false;
  const last: unknown = value["messages"].at(-1);
  const isAssistants = (one: unknown): boolean => isObject(one) && one["role"] === "assistant";
  return isObject(last) && !isAssistants(last) && !value["messages"].some(isAssistants);
}
