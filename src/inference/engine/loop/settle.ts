// Settles draws: appends drawn tokens to their sequences, ends the choices that end with these tokens, and emits events
// for both. Moves no slots and draws nothing.
import { unreachable } from "../../../base/domain/assert.ts";
import type { GeneratedToken } from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { brokenModel } from "../../../base/domain/broken-model.ts";
import type { EmbeddedPrompt, PromptLogprobs } from "./run-call.ts";
import type { Candidates } from "../beam/beam-search.ts";
import type { Finish, RunningRequest, Sequence } from "./sequence.ts";

export interface Draw {
  readonly sequence: Sequence;
  readonly outcome: DrawOutcome;
}

export type DrawOutcome =
  | { readonly kind: "token"; readonly token: GeneratedToken }
  /** Possible next tokens of a hypothesis in a beam search. */
  | { readonly kind: "candidates"; readonly candidates: Candidates }
  /** The answer is complete under its constraint and ends without an end token. */
  | { readonly kind: "complete" }
  /** No token can be drawn, so the whole request fails. */
  | { readonly kind: "failed"; readonly error: ServiceError };

/** Settles draws in the given order. Drops draws of sequences that have finished since. */
export function settleDraws(draws: readonly Draw[]): void {
  for (const { sequence, outcome } of draws) {
    if (sequence.isFinished) continue;
    if (outcome.kind === "failed") {
      failRequest(sequence.running, outcome.error);
      continue;
    }
    emitPromptComputed(sequence);
    applyOutcome(sequence, outcome);
  }
}

/** Emits log-probabilities of prompts. Must be called before the draws of the same call are settled. */
export function settlePromptLogprobs(parts: readonly PromptLogprobs[]): void {
  for (const { running, outcome } of parts) {
    if (running.sequences.every(({ isFinished }) => isFinished)) continue;
    if (outcome instanceof ServiceError) failRequest(running, outcome);
    else running.output.push({ kind: "prompt-logprobs", tokens: outcome });
  }
}

/** Emits embeddings. Each of them ends its request. */
export function settleEmbeddings(embedded: readonly EmbeddedPrompt[]): void {
  for (const { sequence, hidden_D } of embedded) {
    if (sequence.isFinished) continue;
    const { running } = sequence;
    if (!hidden_D.every(Number.isFinite)) {
      failRequest(running, brokenModel());
      continue;
    }
    emitPromptComputed(sequence);
    running.output.push({ kind: "embedding", values: hidden_D.slice() });
    sequence.isFinished = true;
  }
}

/** Ends every choice of a request with an error. */
export function failRequest(running: RunningRequest, error: ServiceError): void {
  for (const sequence of running.sequences) sequence.isFinished = true;
  running.output.fail(error);
}

/**
 * Emits `prompt-computed` before any event of a choice. Tokens that this request computed, lost by preemption and
 * computed again do not count as cached.
 */
function emitPromptComputed({ running }: Sequence): void {
  if (running.isPromptComputed) return;
  running.isPromptComputed = true;
  const { computedPromptCount, request, isHeld, waitedMs } = running;
  const cachedTokenCount = Math.max(0, request.prompt.tokenIds.length - computedPromptCount);
  running.output.push({
    kind: "prompt-computed",
    cachedTokenCount,
    ...(isHeld === null ? {} : { isHeld }),
    ...(waitedMs === null ? {} : { waitedMs }),
  });
}

function applyOutcome(sequence: Sequence, outcome: Exclude<DrawOutcome, { readonly kind: "failed" }>): void {
  switch (outcome.kind) {
    case "token":
      takeToken(sequence, outcome.token);
      return;
    case "candidates":
      sequence.candidates = outcome.candidates;
      return;
    case "complete":
      finish(sequence, { reason: "stop", stopTokenId: null });
      return;
    default:
      unreachable(outcome);
  }
}

function takeToken(sequence: Sequence, token: GeneratedToken): void {
  const { choice, running } = sequence;
  const end = sequence.append(token.id);
  running.output.push({ kind: "tokens", choice, tokens: [token] });
  if (end === null) sequence.cursor?.accept(token.id);
  else finish(sequence, end);
}

function finish(sequence: Sequence, end: Finish): void {
  sequence.isFinished = true;
  sequence.running.output.push({ kind: "choice-finished", choice: sequence.choice, ...end });
}
