// Draws the next tokens of sequences from their logits. Each sequence has its own random numbers and its own
// constraint. If the mask of allowed tokens is late, the sequence keeps its logits and draws later, with the same
// result; other sequences do not wait.
import { systemClock } from "../../../base/domain/clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { BlockSession } from "../logits/blocks/block-session.ts";
import type { ScoreBlocks } from "../logits/blocks/score-blocks.ts";
import { blockTemperatures, Sampler, type DrawBlocks } from "../logits/sampler.ts";
import { brokenModel } from "../../../base/domain/broken-model.ts";
import type { ScoredSequence } from "./run-call.ts";
import type { HeldScores, RunningRequest, Sequence } from "./sequence.ts";
import type { Draw, DrawOutcome } from "./settle.ts";

/**
 * Maximum time in milliseconds that a draw waits for a late mask. Waiting so long costs less than leaving the row
 * out of the next step.
 */
const graceMs = 1;
/**
 * Maximum time in milliseconds that the thread blocks when all rows wait for masks. Meanwhile the thread reads no
 * messages.
 */
const pauseMs = 2;

const noBlocks: DrawBlocks = { raw: null, tempered: null };

/** Logits from which a sequence draws its next token, and block summaries that save passes over these logits. */
interface DrawnSequence extends HeldScores {
  readonly sequence: Sequence;
}

export class Drawer {
  readonly #sampler: Sampler;
  readonly #blocks: BlockSession | null;

  /** @param blocks null if the vocabulary is so small that blocks are not needed */
  constructor(vocabularySize: number, blocks: BlockSession | null) {
    this.#sampler = new Sampler(vocabularySize);
    this.#blocks = blocks;
  }

  /** Draws from the logits of a call. All choices of a newly computed prompt draw from the prompt's logits. */
  async draw(scored: readonly ScoredSequence[]): Promise<readonly Draw[]> {
    const blocks = await this.#blocksOf(scored);
    const all = scored.flatMap(({ sequence: leader, logits_V }, index) =>
      (leader.running.search === null ? [leader, ...leader.followers] : [leader])
        .filter(({ isFinished }) => !isFinished)
        .map((sequence) => ({ sequence, logits_V, blocks: blocks[index] })),
    );
    const draws: Draw[] = [];
    let waiting = this.#drawInto(draws, all);
    if (waiting.length === 0) return draws;
    waitFor(waiting, graceMs);
    waiting = this.#drawInto(draws, waiting);
    const held = new Map<Float32Array, Float32Array>();
    for (const { sequence, logits_V, blocks } of waiting) {
      const kept = held.get(logits_V) ?? logits_V.slice();
      held.set(logits_V, kept);
      sequence.held = { logits_V: kept, blocks };
    }
    return draws;
  }

  /** Draws for sequences that have kept their logits and whose masks are now ready. */
  drawHeld(sequences: Iterable<Sequence>): readonly Draw[] {
    const draws: Draw[] = [];
    this.#drawInto(draws, [...heldAmong(sequences)]);
    for (const { sequence } of draws) sequence.held = null;
    return draws;
  }

  /** Blocks the thread until the masks of the sequences are ready, for at most {@link pauseMs} milliseconds. */
  pause(sequences: Iterable<Sequence>): void {
    waitFor([...heldAmong(sequences)], pauseMs);
  }

  /** Computes the block summaries that the draws of each row need. */
  async #blocksOf(scored: readonly ScoredSequence[]): Promise<readonly DrawBlocks[]> {
    const session = this.#blocks;
    if (session === null) return scored.map(() => noBlocks);
    const wanted = scored.map(({ sequence: { running } }) =>
      running.search === null ? blockTemperatures(running.rules) : { raw: 1, tempered: null },
    );
    if (wanted.every(({ raw, tempered }) => raw === null && tempered === null))
      return scored.map(() => noBlocks);
    const blocksAt = async (temperatures: readonly (number | null)[]): Promise<(ScoreBlocks | null)[]> => {
      const places = temperatures.flatMap((temperature, place) =>
        temperature === null ? [] : [{ place, row: { logits_V: scored[place].logits_V, temperature } }],
      );
      const blocks: (ScoreBlocks | null)[] = temperatures.map(() => null);
      const computed = await session.blocksOf(places.map(({ row }) => row));
      for (const [index, { place }] of places.entries()) blocks[place] = computed[index];
      return blocks;
    };
    const raw = await blocksAt(wanted.map((each) => each.raw));
    const isShared = wanted.map((each) => each.tempered !== null && each.tempered === each.raw);
    const tempered = await blocksAt(wanted.map((each, row) => (isShared[row] ? null : each.tempered)));
    return scored.map((_, row) => ({
      raw: raw[row],
      tempered: isShared[row] ? raw[row] : tempered[row],
    }));
  }

  /**
   * Draws for the rows whose masks are ready, and appends the draws to `draws`.
   *
   * @returns rows whose masks are not ready
   */
  #drawInto(draws: Draw[], scored: readonly DrawnSequence[]): readonly DrawnSequence[] {
    return scored.filter((row) => {
      const outcome = drawFor(row, this.#sampler);
      if (outcome !== null) draws.push({ sequence: row.sequence, outcome });
      return outcome === null;
    });
  }
}

/**
 * Blocks the engine's thread until each sequence has its mask, for at most `ms` milliseconds in total. Callers pass
 * only 1 or 2.
 */
function waitFor(waiting: readonly DrawnSequence[], ms: number): void {
  const endMs = systemClock.monotonicMs() + ms;
  for (const { sequence } of waiting) sequence.cursor?.waitUntil(endMs);
}

function* heldAmong(sequences: Iterable<Sequence>): Generator<DrawnSequence, void> {
  for (const sequence of sequences) {
    const { held, isFinished } = sequence;
    if (held !== null && !isFinished) yield { sequence, ...held };
  }
}

/** Draws a token without modifying the logits. Returns null if the constraint's mask is not ready yet. */
function drawFor({ sequence, logits_V, blocks }: DrawnSequence, sampler: Sampler): DrawOutcome | null {
  const { running, random, history, processors, cursor } = sequence;
  try {
    const mask = cursor?.next() ?? null;
    if (mask === null && cursor !== null) return null;
    const input = { rules: running.rules, random, history, processors, mask };
    if (running.search !== null) {
      const tokens = sampler.best(logits_V, input, running.search.candidateCountMax, blocks.raw);
      if (tokens === "broken scores") return { kind: "failed", error: brokenModel() };
      return {
        kind: "candidates",
        candidates: { tokens, isComplete: tokens.length === 0 && mask?.mayEnd === true },
      };
    }
    const token = sampler.draw(logits_V, input, blocks);
    if (token === "broken scores") return { kind: "failed", error: brokenModel() };
    if (token !== "nothing allowed") return { kind: "token", token };
    return mask?.mayEnd === true ? { kind: "complete" } : { kind: "failed", error: nothingAllowed(running) };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { kind: "failed", error };
  }
}

/** Returns the error for a request whose answer can neither continue nor end. */
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
      : `No token continues the answer: ${forbidding.join(" and ")} leave none. Relax some of them.`;
  return new ServiceError({ code: "unsupported", message });
}
