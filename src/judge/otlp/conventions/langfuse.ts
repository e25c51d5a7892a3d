// Attributes `langfuse.observation.*` of Langfuse's libraries. The program chooses the form of a generation's input and
// output: messages, an object with messages and tools, an answer, or a text.
import { isExactList, isExactObject, type ExactJson } from "../../../base/domain/text/exact-json.ts";
import { choicesOf, toolsOf, type Chat } from "../chat.ts";
import { messagesOf } from "../messages.ts";
import type { SpanAttributes } from "../span-attributes.ts";

const prefix = "langfuse.observation";

export function langfuseChat(attributes: SpanAttributes): Chat | null {
  const type = attributes.see(`${prefix}.type`);
  if (type !== "generation" || !attributes.has(`${prefix}.input`)) return null;
  const input = attributes.parsed(`${prefix}.input`);
  const output = attributes.parsed(`${prefix}.output`);
  const parameters = attributes.parsed(`${prefix}.model.parameters`);
  const usage = attributes.parsed(`${prefix}.usage_details`);
  return {
    model: attributes.text(`${prefix}.model.name`),
    messages: messagesOf(input),
    tools: toolsOf(input !== undefined && isExactObject(input) ? input["tools"] : undefined),
    parameters: parameters !== undefined && isExactObject(parameters) ? parameters : {},
    choices: choicesOf(answersIn(output), null),
    usage: {
      inputTokens: countIn(usage, "input", "prompt_tokens"),
      outputTokens: countIn(usage, "output", "completion_tokens"),
    },
  };
}

/** Returns the answers in an output. The output may be a whole answer of OpenAI's API. */
function answersIn(output: ExactJson | undefined): ExactJson | undefined {
  if (output === undefined || output === null) return undefined;
  if (!isExactObject(output)) return output;
  const { choices } = output;
  if (choices === undefined || !isExactList(choices)) return output;
  return choices.map((choice) => {
    const message = isExactObject(choice) ? choice["message"] : undefined;
    if (!isExactObject(choice) || message === undefined || !isExactObject(message)) return choice;
    return { ...message, finish_reason: choice["finish_reason"] ?? null };
  });
}

function countIn(usage: ExactJson | undefined, ...names: readonly string[]): number | null {
  if (usage === undefined || !isExactObject(usage)) return null;
  const count = names.map((name) => usage[name]).find((value) => typeof value === "number");
  return typeof count === "number" ? count : null;
}
