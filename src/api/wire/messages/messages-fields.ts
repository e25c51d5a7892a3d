// Forms of requests of the Messages API. Also checks what a schema cannot express: supported types, the members that
// each type of block, tool and tool choice requires, and the roles that may have a block.
import { quoted, type Fault } from "../../../base/domain/service-error.ts";
import { eachObject, isObject, report, type Findings } from "../../../base/validation/findings.ts";
import type { BodyForm } from "../body.ts";
import {
  countFields,
  countRequestSchema,
  messagesFields,
  messagesRequestSchema,
} from "./messages-request.ts";

type Members = Readonly<Record<string, unknown>>;

export const messagesForm: BodyForm<typeof messagesRequestSchema> = {
  schema: messagesRequestSchema,
  fields: messagesFields,
  more: checkParts,
  moreUnserved: unservedBlocks,
};

/** Form of a request to count the tokens of a prompt. */
export const countForm: BodyForm<typeof countRequestSchema> = {
  schema: countRequestSchema,
  fields: countFields,
  more: checkParts,
  moreUnserved: unservedBlocks,
};

interface BlockRule {
  /** Roles of messages that may contain a block of this type. */
  readonly roles: readonly string[];
  /** Members that a block of this type must have. */
  readonly members: readonly string[];
}

const blockRules: Readonly<Record<string, BlockRule>> = {
  text: { roles: ["user", "assistant", "system"], members: ["text"] },
  thinking: { roles: ["assistant"], members: ["thinking"] },
  redacted_thinking: { roles: ["assistant"], members: [] },
  tool_use: { roles: ["assistant"], members: ["id", "name", "input"] },
  tool_result: { roles: ["user"], members: ["tool_use_id"] },
};

/** True if the model can see tools of this type. */
export function isShownTool(type: unknown): boolean {
  return type === undefined || type === null || type === "custom";
}

function checkParts(body: Members, findings: Findings): void {
  const { messages, system, tools, tool_choice: choice, thinking } = body;
  eachObject(messages, (message, index) => checkBlocks(message, index, findings));
  eachObject(system, (block, index) => checkText(block, ["system", index], findings));
  eachObject(tools, (tool, index) => {
    if (isShownTool(tool["type"])) checkMembers(tool, ["name", "input_schema"], ["tools", index], findings);
  });
  if (isObject(choice) && choice["type"] === "tool")
    checkMembers(choice, ["name"], ["tool_choice"], findings);
  if (isObject(thinking) && thinking["type"] === "enabled")
    checkMembers(thinking, ["budget_tokens"], ["thinking"], findings);
}

function checkBlocks({ role, content }: Members, index: string, findings: Findings): void {
  eachObject(content, (block, at) => {
    const place = ["messages", index, "content", at];
    const type = String(block["type"]);
    const rule = ruleOf(type);
    if (rule === null) return;
    checkMembers(block, rule.members, place, findings);
    if (typeof role === "string" && blockRules["text"]?.roles.includes(role) && !rule.roles.includes(role)) {
      const message = `Value error, A ${type} block is allowed only in messages of the ${rule.roles.join(" or ")}, and this one is of the ${role}.`;
      report(findings, "value_error", message, ...place, "type");
    }
    if (type !== "tool_result") return;
    eachObject(block["content"], (part, partIndex) =>
      checkText(part, [...place, "content", partIndex], findings),
    );
  });
}

function checkText(block: Members, place: readonly string[], findings: Findings): void {
  if (block["type"] === "text") checkMembers(block, ["text"], place, findings);
}

function checkMembers(
  value: Members,
  members: readonly string[],
  place: readonly string[],
  findings: Findings,
): void {
  for (const member of members) {
    if ((value[member] ?? null) === null) report(findings, "missing", "Field required", ...place, member);
  }
}

function unservedBlocks({ messages, system }: Members): readonly Fault[] {
  const faults: Fault[] = [];
  const check = (block: Members, place: readonly string[], served: readonly string[]): void => {
    const { type } = block;
    if (typeof type !== "string" || served.includes(type)) return;
    const message = `Blocks of type ${quoted(type)} are not supported by this server, whose models read only text; ${served.join(", ")} ${served.length === 1 ? "is" : "are"}. Send its content as text.`;
    faults.push({ location: ["body", ...place, "type"], message, type: "unsupported" });
  };
  eachObject(system, (block, index) => check(block, ["system", index], ["text"]));
  eachObject(messages, ({ content }, index) => {
    eachObject(content, (block, at) => {
      const place = ["messages", index, "content", at];
      check(block, place, Object.keys(blockRules));
      if (block["type"] !== "tool_result") return;
      eachObject(block["content"], (part, partIndex) =>
        check(part, [...place, "content", partIndex], ["text"]),
      );
    });
  });
  return faults;
}

function ruleOf(type: string): BlockRule | null {
  return Object.hasOwn(blockRules, type) ? blockRules[type] : null;
}
