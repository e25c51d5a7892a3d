// A task with two turns: call the tool that a question needs, then report the tool's result.
import type { Message } from "../../../src/apps/client/api.ts";
import type { RecordedTrajectory } from "../../../src/apps/client/recording/recorded-trajectory.ts";
import type { LearningCase, LearningTask } from "./learning-task.ts";

const tools = [toolOf("price"), toolOf("stock")];

const found = { price: "7 coins", stock: "2 left" } as const;

const asked = [
  ["How expensive is the {item}?", "price"],
  ["The {item}, how much?", "price"],
  ["Can I buy the {item}?", "stock"],
] as const;

export const shopTask: LearningTask = {
  name: "shop",
  about:
    "call the tool that the question needs (price or stock) with the right item, then report its result; 1 or 0",
  cases: ["lamp", "kite", "drum"].flatMap((item) =>
    asked.map(([form, tool]) => shopCase(form.replace("{item}", item), { tool, item })),
  ),
};

interface Wanted {
  readonly tool: keyof typeof found;
  readonly item: string;
}

function shopCase(prompt: string, wanted: Wanted): LearningCase {
  const messages: readonly Message[] = [{ role: "user", content: prompt }];
  const call = { name: wanted.tool, arguments: JSON.stringify({ item: wanted.item }) };
  const calling: Message = {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "call_1", type: "function", function: call }],
  };
  const result: Message = { role: "tool", tool_call_id: "call_1", content: found[wanted.tool] };
  return {
    prompt,
    attempt: (trajectory) => attempt(trajectory, messages, wanted),
    lesson: {
      messages: [...messages, calling, result, { role: "assistant", content: found[wanted.tool] }],
      tools,
    },
  };
}

async function attempt(
  { chat }: RecordedTrajectory,
  messages: readonly Message[],
  { tool, item }: Wanted,
): Promise<number> {
  const request = { tools, tool_choice: "auto" as const, max_completion_tokens: 48 };
  const first = (await chat({ ...request, messages: [...messages] })).choices[0]?.message;
  const call = first?.tool_calls?.[0];
  const called = call?.function;
  if (call === undefined || called?.name !== tool || itemOf(called.arguments) !== item) return 0;
  const calling: Message = { role: "assistant", content: null, tool_calls: [call] };
  const result: Message = { role: "tool", tool_call_id: call.id, content: found[tool] };
  const second = await chat({ ...request, messages: [...messages, calling, result] });
  return Number(second.choices[0]?.message.content?.trim() === found[tool]);
}

/** Returns the argument `item`; undefined if it is missing or not the only argument. */
function itemOf(json: string): unknown {
  try {
    const given: unknown = JSON.parse(json);
    if (typeof given !== "object" || given === null) return undefined;
    const entries = Object.entries(given);
    return entries.length === 1 && entries[0]?.[0] === "item" ? entries[0][1] : undefined;
  } catch {
    return undefined;
  }
}

function toolOf(name: string) {
  const parameters = { type: "object", properties: { item: { type: "string" } }, required: ["item"] };
  return { type: "function" as const, function: { name, parameters } };
}
