// When what of one chat request happened, and what came of it: kept while it is answered, and read when it is over, by
// metrics and traces. Costs a few reads of the clock for a request, and nothing for a token.
import type { ChatFinish, ChatRequest, ChatUsage } from "../../../base/domain/chat.ts";
import type { ResolvedModel } from "../../models/registry/model-directory.ts";
import type { GenerationPlan } from "../plan-generation.ts";

/** How a choice ended by itself. */
interface FinishedChoice {
  readonly reason: ChatFinish["reason"];
  readonly tokenCount: number;
}

/** Times are the clock's monotonic milliseconds, in their order; null for what the request did not come to. */
export interface ChatTimeline {
  readonly request: ChatRequest;
  readonly requestedMs: number;
  /** Its model is known, and in memory. */
  reachedMs: number | null;
  model: ResolvedModel | null;
  /** Its prompt is rendered and tokenized, and the engine has it. */
  submittedMs: number | null;
  plan: GenerationPlan | null;
  /** How long it waited in the engine, until its prompt was begun; null also where an engine cannot say. */
  waitedMs: number | null;
  /** Its prompt is computed. */
  computedMs: number | null;
  firstTokenMs: number | null;
  endedMs: number | null;
  /** `completed`, or the code of the error that ended it. */
  outcome: string;
  usage: ChatUsage;
  readonly finishes: FinishedChoice[];
}

export const noUsage: ChatUsage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };

export function startTimeline(request: ChatRequest, requestedMs: number): ChatTimeline {
  return {
    request,
    requestedMs,
    reachedMs: null,
    model: null,
    submittedMs: null,
    plan: null,
    waitedMs: null,
    computedMs: null,
    firstTokenMs: null,
    endedMs: null,
    // Holds for a reader that leaves early, which reaches neither the end nor the error.
    outcome: "cancelled",
    usage: noUsage,
    finishes: [],
  };
}

/** How long the parts of a request that was answered took, in milliseconds; they follow each other without gaps. */
export interface ChatPhases {
  /** Until the engine had it, for its model and its prompt's tokens. */
  readonly preparedMs: number;
  /** In the engine, until its prompt was begun. */
  readonly queuedMs: number;
  /** Until its first token, or its end where it had none. */
  readonly prefillMs: number;
  /** From then to its end. */
  readonly decodeMs: number;
  readonly totalMs: number;
  /** Between the tokens of its longest choice, on average; null where that has fewer than two. */
  readonly perTokenMs: number | null;
}

/** Null for a request whose prompt was not computed, or that is not over. */
export function phasesOf({
  requestedMs,
  submittedMs,
  waitedMs,
  computedMs,
  firstTokenMs,
  endedMs,
  finishes,
}: ChatTimeline): ChatPhases | null {
  if (submittedMs === null || computedMs === null || endedMs === null) return null;
  // What an engine says of itself is by a clock of its own.
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
