// The conversation of a traced request to a model, in the forms of OpenAI's and Anthropic's chat APIs. Has no side
// effects.
import type { WeaveCall } from "../../client/api.ts";
import { type Branch, branchesOf } from "../trajectories/turns.ts";

/** Returns the messages and answers of a call; null if the call is no request to a model. */
export function chatOf({
  inputs,
  output,
}: Pick<WeaveCall, "inputs" | "output">): Pick<Branch, "turns" | "toolNames"> | null {
  const { messages, system, tools } = bodyOf(inputs);
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isMessage)) return null;
  const asked = system === undefined ? messages : [{ role: "system", content: system }, ...messages];
  const [branch] = branchesOf({ messages_and_choices: [...asked, ...answersOf(output)], tools });
  return branch ?? null;
}

function answersOf(output: unknown): readonly object[] {
  const { choices } = bodyOf(output);
  if (Array.isArray(choices)) return choices.map(choiceOf);
  return isMessage(output) ? [choiceOf({ message: output })] : [];
}

/** Adds the member that distinguishes answers from messages. Clients leave it out for streams that they cut short. */
function choiceOf(choice: unknown): object {
  return { finish_reason: null, ...bodyOf(choice) };
}

function isMessage(value: unknown): value is object {
  return typeof bodyOf(value)["role"] === "string";
}

function bodyOf(value: unknown): Readonly<Record<string, unknown>> {
  // Safe cast: an object or a list, whose members are checked before they are used.
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
