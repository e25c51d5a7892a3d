// Modes in which the engine computes a request. No mode may change a bit of the answer. A new way of computing in the
// engine's loop needs an entry here.
import type { AdapterReference, GenerationRequest } from "../../src/base/domain/generation.ts";
import { systemClock, type Clock } from "../../src/base/domain/clock.ts";
import { seededRandom } from "../../src/base/domain/random.ts";
import { PromptDrafter } from "../../src/inference/engine/drafts/prompt-drafter.ts";
import type { LoopOptions } from "../../src/inference/engine/loop/engine-loop.ts";
import { KnownDrafter } from "../../src/inference/engine/testing/known-drafter.ts";
import { requestOf } from "../../src/inference/engine/testing/run-loop.ts";

/** Answers that are already known: those of each request when it runs without others. */
export interface KnownAnswers {
  readonly vocabularySize: number;
  /** Returns the tokens of each choice in the request's known answer; empty if the answer is not known yet. */
  readonly answersOf: (request: GenerationRequest) => readonly (readonly number[])[];
}

export interface Mode {
  readonly name: string;
  /** Returns options that replace the defaults without limits. Called for each loop. */
  readonly limits: (known: KnownAnswers) => Partial<LoopOptions>;
  /** Number of concurrent requests; when one ends, the next one starts. */
  readonly together: number;
  /** How often all requests are sent to the same loop. Only the answers of the last round are compared. */
  readonly rounds?: number;
  /** Returns the requests that other clients send at this step. */
  readonly arrivals?: (step: number, adapters: readonly AdapterReference[]) => readonly GenerationRequest[];
}

/** Runs each request without others, computed as plainly as possible. All other modes must give the same answers. */
export const alone: Mode = { name: "alone", limits: () => ({}), together: 1 };

export const modes: readonly Mode[] = [
  { name: "in a full batch", limits: () => ({}), together: 64 },
  { name: "in small batches", limits: () => ({ slotCountMax: 5 }), together: 8 },
  {
    name: "prompts in small chunks",
    limits: () => ({ promptChunkTokens: 7, tokensPerStepMax: 16 }),
    together: 6,
  },
  {
    name: "one or two prompt tokens per step",
    limits: () => ({ promptChunkTokens: 2, tokensPerStepMax: 3 }),
    together: 2,
  },
  { name: "prompt parts that depend on the clock", limits: () => ({ clock: oddClock() }), together: 12 },
  { name: "prefixes cached for other requests", limits: () => ({ prefixCachePercent: 100 }), together: 16 },
  {
    name: "prefixes cached in the first round",
    limits: () => ({ prefixCachePercent: 100 }),
    together: 16,
    rounds: 2,
  },
  {
    name: "prefixes cached, little memory",
    limits: () => ({ ...littleMemory(), prefixCachePercent: 100 }),
    together: 8,
  },
  { name: "right and wrong drafts", limits: knownDrafts, together: 2 },
  { name: "drafts by prompt lookup", limits: () => ({ drafter: new PromptDrafter(7) }), together: 2 },
  { name: "together with adapters", limits: () => ({}), together: 8, arrivals: withAdapters },
  {
    name: "preempted repeatedly",
    limits: () => ({ slotCountMax: 4 }),
    together: 4,
    arrivals: betterOnes,
  },
  {
    name: "all modes combined",
    limits: (known) => ({
      ...knownDrafts(known),
      slotCountMax: 6,
      prefixCachePercent: 50,
      tokensPerStepMax: 32,
      clock: oddClock(),
    }),
    together: 12,
    rounds: 2,
    arrivals: (step, adapters) =>
      step % 2 === 0 ? [] : [...betterOnes((step - 1) / 2), ...withAdapters((step - 1) / 2, adapters)],
  },
];

/**
 * Returns a clock that makes each call seem to take between a millisecond and a second, so that the amount of work per
 * step keeps changing.
 */
function oddClock(): Clock {
  const random = seededRandom("odd clock");
  let ms = 0;
  return { ...systemClock, monotonicMs: () => (ms += 10 ** (3 * random.uniform())) };
}

/** Returns options with a drafter whose drafts begin with the known answer and end with wrong tokens. */
function knownDrafts({ vocabularySize, answersOf }: KnownAnswers): Partial<LoopOptions> {
  return { drafter: new KnownDrafter(seededRandom("drafts"), vocabularySize, answersOf) };
}

/** Options for a cache with room for only a few requests, so that cached prefixes must be evicted. */
function littleMemory(): Partial<LoopOptions> {
  return { kvCacheBytesMax: 2 ** 26 };
}

/** Returns a request for each adapter at some steps, so that rows with adapters come and go. */
function withAdapters(step: number, adapters: readonly AdapterReference[]): readonly GenerationRequest[] {
  if (step % 5 !== 0) return [];
  return adapters.map((adapter, index) =>
    requestOf(
      Array.from({ length: 20 + (step % 40) }, (_, place) => (step + 3 * index + place) % 500),
      { adapter, maxTokens: 3 + (step % 7), priority: 1 },
    ),
  );
}

/**
 * Occasionally returns requests with a better priority, which preempt running requests for a few steps. They are rare
 * enough that a preempted request makes progress between two of them, although its tokens must be computed again.
 */
function betterOnes(step: number): readonly GenerationRequest[] {
  return step % 45 === 4 ? [requestOf([5, 1 + (step % 400)], { choiceCount: 3, maxTokens: 3 })] : [];
}
