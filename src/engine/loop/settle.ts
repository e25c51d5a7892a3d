// Lets drawn tokens take effect: they are appended to their sequences, choices that end with them are finished, and what
// the caller is to know is put into events. Moves no slots and draws nothing.
import type { GeneratedToken, GenerationEvent } from "../../domain/generation.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { failureOf } from "../../processes/failure.ts";
import type { Failure } from "../../processes/protocol.ts";
import type { RunningRequest, Sequence } from "./sequence.ts";

/** What happened to one request; `key` is the number it was submitted under. */
export type LoopOutput =
  | { readonly kind: "event"; readonly key: number; readonly event: GenerationEvent }
  | ({ readonly kind: "failed"; readonly key: number } & Failure);

export interface Draw {
  readonly sequence: Sequence;
  /** Null where the scores are not numbers. */
  readonly token: GeneratedToken | null;
}

/** Settles draws in their order. Those of sequences that have finished meanwhile are dropped. */
export function settleDraws(draws: readonly Draw[]): readonly LoopOutput[] {
  return draws.flatMap(({ sequence, token }) => {
    if (sequence.isFinished) return [];
    if (token === null) return [failRequest(sequence.running, brokenModel())];
    const { key } = sequence.running;
    return takeToken(sequence, token).map((event) => ({ kind: "event", key, event }) as const);
  });
}

/** Ends every choice of a request with an error. */
export function failRequest(running: RunningRequest, error: ServiceError): LoopOutput {
  for (const sequence of running.sequences) sequence.isFinished = true;
  return { kind: "failed", key: running.key, ...failureOf(error, error.message) };
}

function takeToken(sequence: Sequence, token: GeneratedToken): readonly GenerationEvent[] {
  const { running, choice, cachedCount } = sequence;
  const events: GenerationEvent[] = [];
  if (!running.isPromptComputed) {
    running.isPromptComputed = true;
    events.push({ kind: "prompt-computed", cachedTokenCount: cachedCount, promptLogprobs: null });
  }
  events.push({ kind: "tokens", choice, tokens: [token] });
  const finish = sequence.append(token.id);
  if (finish !== null) {
    sequence.isFinished = true;
    events.push({ kind: "choice-finished", choice, ...finish });
  }
  return events;
}

function brokenModel(): ServiceError {
  const message = "The model's scores are not finite numbers: this version of the model cannot be used.";
  return new ServiceError({ code: "internal", message });
}
