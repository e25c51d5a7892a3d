// Draws the next tokens of sequences from the scores of their rows: each with its own random numbers, and under its
// constraint where it has one. A sequence whose constraint does not say in time what it allows keeps its scores, and is
// drawn from them later: nobody else waits for it, and its answer stays the same.
import { systemClock } from "../../domain/clock.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { Sampler } from "../logits/sampler.ts";
import { brokenModel } from "./broken-model.ts";
import type { ScoredSequence } from "./run-call.ts";
import type { RunningRequest, Sequence } from "./sequence.ts";
import type { Draw, DrawOutcome } from "./settle.ts";

/** A mask that is late by less costs less than leaving its row out of the next step. */
const graceMs = 1;
/** How long the engine may be deaf to messages where all that runs waits for masks. */
const pauseMs = 2;

export class Drawer {
  readonly #sampler: Sampler;

  constructor(vocabularySize: number) {
    this.#sampler = new Sampler(vocabularySize);
  }

  /** Draws for what was scored; the choices that follow a computed prompt all draw from its scores. */
  draw(scored: readonly ScoredSequence[]): readonly Draw[] {
    const all = scored.flatMap(({ sequence: leader, logits_V }) =>
      (leader.running.search === null ? [leader, ...leader.followers] : [leader])
        .filter(({ isFinished }) => !isFinished)
        .map((sequence) => ({ sequence, logits_V })),
    );
    const draws: Draw[] = [];
    let waiting = this.#drawInto(draws, all);
    if (waiting.length === 0) return draws;
    waitFor(waiting, graceMs);
    waiting = this.#drawInto(draws, waiting);
    const held = new Map<Float32Array, Float32Array>();
    for (const { sequence, logits_V } of waiting) {
      const kept = held.get(logits_V) ?? logits_V.slice();
      held.set(logits_V, kept);
      sequence.heldLogits_V = kept;
    }
    return draws;
  }

  /** Draws for those of the sequences that kept their scores and need not wait any more. */
  drawHeld(sequences: Iterable<Sequence>): readonly Draw[] {
    const draws: Draw[] = [];
    this.#drawInto(draws, [...heldAmong(sequences)]);
    for (const { sequence } of draws) sequence.heldLogits_V = null;
    return draws;
  }

  /** Blocks the thread for a moment, or until what the sequences wait for is there. */
  pause(sequences: Iterable<Sequence>): void {
    waitFor([...heldAmong(sequences)], pauseMs);
  }

  /** @returns those for which it is too early */
  #drawInto(draws: Draw[], scored: readonly ScoredSequence[]): readonly ScoredSequence[] {
    return scored.filter(({ sequence, logits_V }) => {
      const outcome = drawFor(sequence, logits_V, this.#sampler);
      if (outcome !== null) draws.push({ sequence, outcome });
      return outcome === null;
    });
  }
}

/** Blocks the thread until it is known what may come next for each of them, at most for the time. */
function waitFor(waiting: readonly ScoredSequence[], ms: number): void {
  const endMs = systemClock.monotonicMs() + ms;
  for (const { sequence } of waiting) sequence.cursor?.waitUntil(endMs);
}

function* heldAmong(sequences: Iterable<Sequence>): Generator<ScoredSequence, void> {
  for (const sequence of sequences) {
    const { heldLogits_V, isFinished } = sequence;
    if (heldLogits_V !== null && !isFinished) yield { sequence, logits_V: heldLogits_V };
  }
}

/**
 * @param logits_V raw scores; not modified
 * @returns null while it is not known what the constraint allows; nothing is drawn then
 */
function drawFor(sequence: Sequence, logits_V: Float32Array, sampler: Sampler): DrawOutcome | null {
  const { running, random, history, processors, cursor } = sequence;
  try {
    const mask = cursor?.next() ?? null;
    if (mask === null && cursor !== null) return null;
    const input = { rules: running.rules, random, history, processors, mask };
    if (running.search !== null) {
      const tokens = sampler.best(logits_V, input, running.search.candidateCountMax);
      if (tokens === "broken scores") return { kind: "failed", error: brokenModel() };
      return {
        kind: "candidates",
        candidates: { tokens, isComplete: tokens.length === 0 && mask?.mayEnd === true },
      };
    }
    const token = sampler.draw(logits_V, input);
    if (token === "broken scores") return { kind: "failed", error: brokenModel() };
    if (token !== "nothing allowed") return { kind: "token", token };
    return mask?.mayEnd === true ? { kind: "complete" } : { kind: "failed", error: nothingAllowed(running) };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { kind: "failed", error };
  }
}

/** Of a request whose answers cannot go on, and may not end. */
export function nothingAllowed({ request }: RunningRequest): ServiceError {
  const { allowedTokenIds, badWords, processors } = request.sampling;
  const forbidding = [
    ...(request.constraint === null ? [] : ["the constraint"]),
    ...(allowedTokenIds === null ? [] : ["the allowed token ids"]),
    ...(badWords.length === 0 ? [] : ["the bad words"]),
    ...(processors.length === 0 ? [] : ["the logits processors"]),
  ];
  const message =
    forbidding.join() === "the constraint"
      ? "The constraint cannot be followed with this model's vocabulary: no token continues the answer."
      : `No token continues the answer: ${forbidding.join(" and ")} leave none. Ask for less of these.`;
  return new ServiceError({ code: "unsupported", message });
}
