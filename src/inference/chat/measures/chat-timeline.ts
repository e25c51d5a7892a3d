// Times of the stages of one chat request, and the request's outcome. Filled in while the request is answered; metrics
// and traces read it after that. The clock is read a few times per request, but not for each token.
import type { ChatFinish, ChatHeader, ChatRequest, ChatUsage } from "../../../base/domain/chat.ts";
import type { ResolvedModel } from "../../models/registry/model-directory.ts";
import type { GenerationPlan } from "../plan-generation.ts";

/** A choice that reached its end, and was not stopped early. */
interface FinishedChoice {
  readonly reason: ChatFinish["reason"];
  readonly tokenCount: number;
}

/**
 * Timeline of a request. Times are in milliseconds of the monotonic clock and in chronological order; null for stages
 * that the request has not reached.
 */
export interface ChatTimeline {
  readonly request: ChatRequest;
  readonly requestedMs: number;
  /** Time when the request's model was resolved and its base loaded. */
  modelReadyMs: number | null;
  model: ResolvedModel | null;
  /** Time when the request was submitted to the engine, with its prompt rendered and tokenized. */
  submittedMs: number | null;
  plan: GenerationPlan | null;
  /**
   * Duration that the request waited in the engine before prefill began. Null before that, and if the engine does
   * not report it.
   */
  waitedMs: number | null;
  /** Time when the prompt was computed. */
  computedMs: number | null;
  firstTokenMs: number | null;
  endedMs: number | null;
  /** `completed`, or the code of the error with which the request ended. */
  outcome: string;
  usage: ChatUsage;
  readonly finishes: FinishedChoice[];
}

export const noUsage: ChatUsage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };

export function startTimeline(request: ChatRequest, requestedMs: number): ChatTimeline {
  return {
    request,
    requestedMs,
    modelReadyMs: null,
    model: null,
    submittedMs: null,
    plan: null,
    waitedMs: null,
    computedMs: null,
    firstTokenMs: null,
    endedMs: null,
    // Default outcome, which remains if the client stops reading early, because then neither an end nor an error sets
    // another outcome.
    outcome: "cancelled",
    usage: noUsage,
    finishes: [],
  };
}

/** Returns the durations that an answer's header reports, once the prompt is computed. */
export function computeStages({
  requestedMs,
  modelReadyMs,
  submittedMs,
  waitedMs,
  computedMs,
}: ChatTimeline): ChatHeader["stages"] {
  const submitted = submittedMs ?? requestedMs;
  const elapsedMs = (computedMs ?? submitted) - submitted;
  return {
    loadMs: (modelReadyMs ?? requestedMs) - requestedMs,
    promptMs: Math.max(0, elapsedMs - (waitedMs ?? 0)),
  };
}

/** Durations in milliseconds of the phases of an answered request. Each phase begins when the previous one ends. */
export interface ChatPhases {
  /** Time until the request is submitted to the engine: loading the model, and writing the prompt. */
  readonly preparedMs: number;
  /** Time in the engine until prefill begins. */
  readonly queuedMs: number;
  /** Time until the first token, or until the end if the answer has no token. */
  readonly prefillMs: number;
  /** Time from the first token to the answer's end. */
  readonly decodeMs: number;
  readonly totalMs: number;
  /** Average time between two tokens of the request's longest choice; null if that choice has fewer than two tokens. */
  readonly perTokenMs: number | null;
}

/** Returns the durations of the phases; null if the request's prompt was not computed, or the request has not ended. */
export function computePhases({
  requestedMs,
  submittedMs,
  waitedMs,
  computedMs,
  firstTokenMs,
  endedMs,
  finishes,
}: ChatTimeline): ChatPhases | null {
  if (submittedMs === null || computedMs === null || endedMs === null) return null;
  // The wait cannot be longer than the time until the prompt was computed. The limit is needed because the engine
  // measures the wait with another clock.
  const queuedMs = Math.min(waitedMs ?? 0, computedMs - submittedMs);
  const firstMs = firstTokenMs ?? endedMs;
  const decodeMs = endedMs - firstMs;
  const tokenCount = Math.max(0, ...finishes.map((finish) => finish.tokenCount));
  return {
    preparedMs: submittedMs - requestedMs,
    queuedMs,
    prefillMs: firstMs - submittedMs - queuedMs,
    decodeMs,
    totalMs: endedMs - requestedMs,
    perTokenMs: tokenCount < 2 ? null : decodeMs / (tokenCount - 1),
  };
}
