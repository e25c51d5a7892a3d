// Lets drawn tokens take effect: they are appended to their sequences, choices that end with them are finished, and what
// the caller is to know is put into events. Moves no slots and draws nothing.
import { unreachable } from "../../domain/assert.ts";
import type { GeneratedToken, GenerationEvent } from "../../domain/generation.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { failureOf } from "../../processes/failure.ts";
import type { Failure } from "../../processes/protocol.ts";
import type { PromptLogprobs } from "./run-call.ts";
import type { WaysOn } from "../beam/beam-search.ts";
import type { RunningRequest, Sequence } from "./sequence.ts";

/** What happened to one request; `key` is the number it was submitted under. */
export type LoopOutput =
  | { readonly kind: "event"; readonly key: number; readonly event: GenerationEvent }
  | ({ readonly kind: "failed"; readonly key: number } & Failure);

export interface Draw {
  readonly sequence: Sequence;
  readonly outcome: DrawOutcome;
}

export type DrawOutcome =
  | { readonly kind: "token"; readonly token: GeneratedToken }
  /** Of a beam: what of its row's scores the search goes by. */
  | { readonly kind: "ways"; readonly ways: WaysOn }
  /** The answer is complete under its constraint, and no token says so. */
  | { readonly kind: "complete" }
  /** Nothing can be drawn, which ends the whole request. */
  | { readonly kind: "failed"; readonly error: ServiceError };

/** Settles draws in their order. Those of sequences that have finished meanwhile are dropped. */
export function settleDraws(draws: readonly Draw[]): readonly LoopOutput[] {
  return draws.flatMap(({ sequence, outcome }) => {
    if (sequence.isFinished) return [];
    if (outcome.kind === "failed") return [failRequest(sequence.running, outcome.error)];
    const { key } = sequence.running;
    return [...promptComputed(sequence), ...takeEffect(sequence, outcome)].map(
      (event) => ({ kind: "event", key, event }) as const,
    );
  });
}

/** Settles log-probabilities of prompts; to be called before the draws of the same call are settled. */
export function settlePromptLogprobs(parts: readonly PromptLogprobs[]): readonly LoopOutput[] {
  return parts.flatMap(({ running, outcome }) => {
    if (running.sequences.every(({ isFinished }) => isFinished)) return [];
    if (outcome instanceof ServiceError) return [failRequest(running, outcome)];
    return [{ kind: "event", key: running.key, event: { kind: "prompt-logprobs", tokens: outcome } }];
  });
}

/** Ends every choice of a request with an error. */
export function failRequest(running: RunningRequest, error: ServiceError): LoopOutput {
  for (const sequence of running.sequences) sequence.isFinished = true;
  return { kind: "failed", key: running.key, ...failureOf(error, error.message) };
}

/** Before anything else of a request. */
function promptComputed({ running, cachedCount }: Sequence): readonly GenerationEvent[] {
  if (running.isPromptComputed) return [];
  running.isPromptComputed = true;
  return [{ kind: "prompt-computed", cachedTokenCount: cachedCount }];
}

function takeEffect(
  sequence: Sequence,
  outcome: Exclude<DrawOutcome, { readonly kind: "failed" }>,
): readonly GenerationEvent[] {
  switch (outcome.kind) {
    case "token":
      return takeToken(sequence, outcome.token);
    case "ways":
      sequence.ways = outcome.ways;
      return [];
    case "complete":
      return [complete(sequence)];
    default:
      return unreachable(outcome);
  }
}

function takeToken(sequence: Sequence, token: GeneratedToken): readonly GenerationEvent[] {
  const { choice } = sequence;
  const tokens: GenerationEvent = { kind: "tokens", choice, tokens: [token] };
  const finish = sequence.append(token.id);
  if (finish === null) {
    sequence.cursor?.accept(token.id);
    return [tokens];
  }
  sequence.isFinished = true;
  return [tokens, { kind: "choice-finished", choice, ...finish }];
}

function complete(sequence: Sequence): GenerationEvent {
  sequence.isFinished = true;
  return { kind: "choice-finished", choice: sequence.choice, reason: "stop", stopTokenId: null };
}
