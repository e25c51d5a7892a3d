// Streams the answers to a chat and collects them, so that a client sees the progress and can cancel.
import type { ChatCompletionRequest } from "../../../client/api.ts";
import type { ToolContext } from "../tool.ts";

export interface CollectedAnswers {
  readonly model: string;
  readonly request_id: string;
  answers: { text: string; reasoning: string | null; finish_reason: string }[];
  usage: { prompt_tokens: number; completion_tokens: number };
}

/** Number of stream events between two progress notifications. */
const eventsPerNotification = 16;

export async function collectAnswers(
  body: ChatCompletionRequest,
  { hone, signal, progress }: ToolContext,
): Promise<CollectedAnswers> {
  const count = body.n ?? 1;
  const total = (body.max_completion_tokens ?? 0) * count;
  const answers = Array.from({ length: count }, () => ({ text: "", reasoning: "", finish_reason: "" }));
  let [model, requestId, eventCount] = ["", "", 0];
  let usage = { prompt_tokens: 0, completion_tokens: 0 };
  const stream = { ...body, stream_options: { include_usage: true } };
  for await (const chunk of hone.chat.stream(stream, { signal })) {
    [model, requestId] = [chunk.model, chunk.request_id];
    for (const { index, delta, finish_reason: reason } of chunk.choices) {
      const answer = answers[index];
      answer.text += delta.content ?? "";
      answer.reasoning += delta.reasoning ?? "";
      answer.finish_reason = reason ?? answer.finish_reason;
    }
    if (chunk.usage) usage = chunk.usage;
    eventCount += 1;
    if (eventCount % eventsPerNotification === 0)
      progress(eventCount, Math.max(total, eventCount), `about ${eventCount} tokens`);
  }
  const { prompt_tokens, completion_tokens } = usage;
  return {
    model,
    request_id: requestId,
    answers: answers.map((answer) => ({
      ...answer,
      reasoning: answer.reasoning === "" ? null : answer.reasoning,
    })),
    usage: { prompt_tokens, completion_tokens },
  };
}
