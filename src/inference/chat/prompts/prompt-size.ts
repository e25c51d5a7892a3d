// Estimates how much text a prompt will be, without rendering it.
import { unreachable } from "../../../base/domain/assert.ts";
import type { PromptTask } from "./write-prompt.ts";

/** Whether the texts, names and values of a task are at most `max` together; counts no further. */
export function isWithin(max: number, { prompt, badWords }: PromptTask): boolean {
  let left = max;
  const count = (value: unknown): boolean => {
    left -= typeof value === "string" ? value.length : 1;
    if (left < 0) return false;
    if (typeof value !== "object" || value === null) return true;
    if (Array.isArray(value)) return value.every(count);
    return Object.entries(value).every(([name, member]) => {
      left -= name.length;
      return count(member);
    });
  };
  return [...contentOf(prompt), badWords].every(count);
}

function contentOf(prompt: PromptTask["prompt"]): readonly unknown[] {
  switch (prompt.kind) {
    case "conversation":
      return [prompt.messages, prompt.tools, prompt.documents, prompt.templateArguments];
    case "text":
    case "rendered":
      return [prompt.text];
    case "tokens":
      return [prompt.tokenIds];
    default:
      return unreachable(prompt);
  }
}
