// Conversations of an expert. The agent is first taught from them.
import type { Message } from "../../src/apps/client/api.ts";
import type { Question } from "./questions.ts";

/** Returns an expert's conversation: the question, each call of its plan with the result, and the answer. */
export function demonstrate({ text, plan, answer }: Question): readonly Message[] {
  return [
    { role: "user", content: text },
    ...plan.flatMap(({ tool, arguments: values, result }, index): readonly Message[] => {
      const id = `call-${index}`;
      const call = { name: tool, arguments: JSON.stringify(values) };
      return [
        { role: "assistant", content: null, tool_calls: [{ id, type: "function", function: call }] },
        { role: "tool", tool_call_id: id, content: String(result) },
      ];
    }),
    { role: "assistant", content: answer },
  ];
}
