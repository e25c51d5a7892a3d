// What a request means by its tools for the model that it names: whether calls are read out of its answers, and must be in
// them. What is asked of a model that calls no tools is refused.
import { chatFault, type ChatRequest } from "../../domain/chat.ts";
import { ServiceError } from "../../domain/service-error.ts";

/** The sentence for a client whose tools the model is shown, but cannot call; null where there is nothing to say. */
export function noticeOf(request: ChatRequest, modelName: string): string | null {
  const { prompt, calls } = request;
  const hasTools = prompt.kind === "conversation" && prompt.tools !== null;
  if (!hasTools || calls.choice !== undefined) return null;
  return `tools are shown to the model, but no calls are read from its answer: chat.toolCalls is off for ${modelName}`;
}

/** @throws ServiceError `invalid` for a choice that asks for calls */
export function refuseCalls({ calls: { choice } }: ChatRequest, modelName: string): void {
  if (choice === undefined || choice.kind === "none") return;
  const message = `The model ${modelName} calls no tools (chat.toolCalls is off for it), so \`calls.choice\` can only be "none"; send that, or leave it out.`;
  throw new ServiceError({
    code: "invalid",
    faults: [chatFault("calls.choice", { message, type: "value_error" })],
  });
}
