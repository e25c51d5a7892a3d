// Conversations that teach the model to use an agent's tool. The prompt and the tool declarations come from the agent's
// own recorded calls.

/** The tool's result in the conversations. Each agent words an empty result differently. */
const toolAnswer = "(no output)";

/**
 * Returns two conversations for an agent: in one the model does the task, in the other it does the task wrong. A model
 * trained on both earns different rewards in its rollouts, so that reinforcement learning has something to learn from.
 *
 * @param calls recorded calls of the agent's first rollout
 */
export function lessonsOf({ title, tool, argumentsOf }, calls) {
  const isOffered = ({ tools }) => (tools ?? []).some(({ function: named }) => named?.name === tool);
  const call = calls.find(isOffered);
  if (call === undefined) throw new Error(`${title} offered no tool ${tool} to the model.`);
  return ["yes", "no"].map((word) => {
    const named = { name: tool, arguments: JSON.stringify(argumentsOf(`${word}.txt`)) };
    const messages = [
      ...call.messages,
      { role: "assistant", content: null, tool_calls: [{ id: "call_1", type: "function", function: named }] },
      { role: "tool", tool_call_id: "call_1", content: toolAnswer },
      { role: "assistant", content: "Done." },
    ];
    return { messages, tools: call.tools };
  });
}
