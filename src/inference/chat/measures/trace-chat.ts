// Writes the OpenTelemetry span of an ended chat request, with a child span for each phase, and builds the request's
// metrics. Both follow the conventions for generative AI, and contain neither prompts nor answers.
// https://github.com/open-telemetry/semantic-conventions-genai
import { choiceCountOf } from "../../../base/domain/generation.ts";
import type { GenAiRequest, Span } from "../../../base/telemetry/tracing.ts";
import { computePhases, type ChatTimeline } from "./chat-timeline.ts";

/**
 * Adds the spans of one request to a trace.
 *
 * @param timeline timeline of a request that has ended
 */
export function traceChat(span: Span, timeline: ChatTimeline): void {
  const { requestedMs, modelReadyMs, submittedMs, computedMs, firstTokenMs } = timeline;
  const endMs = timeline.endedMs ?? requestedMs;
  const chat = span.add({
    name: [operationOf(timeline), timeline.model?.name].join(" ").trim(),
    startMs: requestedMs,
    endMs,
    attributes: attributesOf(timeline),
    error: errorOf(timeline),
  });
  chat.add({ name: "model", startMs: requestedMs, endMs: modelReadyMs ?? endMs });
  if (modelReadyMs === null) return;
  chat.add({ name: "prompt", startMs: modelReadyMs, endMs: submittedMs ?? endMs });
  if (submittedMs === null) return;
  const inEngine = { "hone.process": "engine" };
  const begunMs = submittedMs + (computePhases(timeline)?.queuedMs ?? 0);
  if (computedMs === null) {
    // The request ended while it waited in the queue or in prefill. The engine does not report which.
    chat.add({ name: "queue", startMs: submittedMs, endMs, attributes: inEngine });
    return;
  }
  const firstMs = firstTokenMs ?? endMs;
  chat.add({ name: "queue", startMs: submittedMs, endMs: begunMs, attributes: inEngine });
  chat.add({ name: "prefill", startMs: begunMs, endMs: firstMs, attributes: inEngine });
  chat.add({ name: "decode", startMs: firstMs, endMs, attributes: inEngine });
}

function attributesOf(timeline: ChatTimeline) {
  const { request, model, plan, usage, finishes, firstTokenMs, requestedMs } = timeline;
  const sampling = plan?.generation.sampling;
  const choiceCount = plan === null ? 1 : choiceCountOf(plan.generation);
  return {
    "gen_ai.operation.name": operationOf(timeline),
    "gen_ai.provider.name": "hone",
    "gen_ai.request.model": request.identity.model ?? model?.name,
    "gen_ai.request.choice.count": choiceCount === 1 ? undefined : choiceCount,
    "gen_ai.request.max_tokens": plan?.generation.stopping.maxTokens,
    "gen_ai.request.temperature": sampling?.temperature,
    "gen_ai.request.top_p": sampling?.topP,
    "gen_ai.request.top_k": sampling?.topK,
    "gen_ai.request.frequency_penalty": sampling?.frequencyPenalty,
    "gen_ai.request.presence_penalty": sampling?.presencePenalty,
    "gen_ai.response.id": request.identity.requestId,
    "gen_ai.response.model": model?.fingerprint,
    "gen_ai.response.finish_reasons":
      finishes.length === 0 ? undefined : finishes.map(({ reason }) => reason),
    "gen_ai.response.time_to_first_chunk":
      firstTokenMs === null ? undefined : (firstTokenMs - requestedMs) / 1000,
    "gen_ai.usage.input_tokens": plan === null ? undefined : usage.promptTokens,
    "gen_ai.usage.cache_read.input_tokens": plan === null ? undefined : usage.cachedTokens,
    "gen_ai.usage.output_tokens": plan === null ? undefined : usage.completionTokens,
    "hone.base_model": model?.base,
    "hone.model.id": model?.modelId ?? undefined,
    "hone.model.step": model?.step ?? undefined,
  };
}

/**
 * Returns the request's metrics. Must be called only if the request's model is known. The metrics are labelled with the
 * base model, because there may be too many trained models for labels.
 */
export function toGenAiRequest(timeline: ChatTimeline, base: string): GenAiRequest {
  const { requestedMs, endedMs, firstTokenMs, usage } = timeline;
  const perTokenMs = computePhases(timeline)?.perTokenMs ?? null;
  return {
    operation: operationOf(timeline),
    model: base,
    error: errorOf(timeline),
    seconds: ((endedMs ?? requestedMs) - requestedMs) / 1000,
    firstTokenSeconds: firstTokenMs === null ? null : (firstTokenMs - requestedMs) / 1000,
    perTokenSeconds: perTokenMs === null ? null : perTokenMs / 1000,
    inputTokens: usage.promptTokens,
    outputTokens: usage.completionTokens,
  };
}

function operationOf({ request }: ChatTimeline): GenAiRequest["operation"] {
  return request.prompt.kind === "conversation" ? "chat" : "text_completion";
}

function errorOf({ outcome }: ChatTimeline): string | undefined {
  return outcome === "completed" ? undefined : outcome;
}
