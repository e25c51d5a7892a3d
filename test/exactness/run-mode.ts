// Runs requests through the engine's loop in one mode of `modes`, and returns the answers.
import {
  choiceCountOf,
  type AdapterReference,
  type GenerationRequest,
} from "../../src/base/domain/generation.ts";
import type { BlockSession } from "../../src/inference/engine/logits/blocks/block-session.ts";
import type { LoopOptions } from "../../src/inference/engine/loop/engine-loop.ts";
import type { ModelRunner } from "../../src/inference/engine/model-runner.ts";
import {
  observedLoop,
  smallLimits,
  type ObservedLoop,
  type Transcript,
} from "../../src/inference/engine/testing/run-loop.ts";
import type { KnownAnswers, Mode } from "./modes.ts";

/** All parts of an answer that a client can see. */
export type Answer = Readonly<{
  choices: readonly (readonly [
    ids: readonly number[],
    logprobs: readonly number[],
    alternatives: ReturnType<Transcript["alternatives"]>,
  ])[];
  promptLogprobs: ReturnType<Transcript["promptLogprobs"]>;
  finishes: readonly string[];
  /** Null if no embedding was requested. */
  embedding: readonly number[] | null;
  failure: string | null;
}>;

/**
 * The server's limits, but without a prefix cache. Calls seem to take no time, so prompts are computed in the largest
 * parts.
 */
const plainLimits: LoopOptions = {
  slotCountMax: 128,
  kvCacheBytesMax: 2 ** 31,
  prefixCachePercent: 0,
  tokensPerStepMax: 512,
  promptChunkTokens: 512,
  clock: smallLimits.clock,
};

/** The engine that a mode runs on. */
export interface ModeEngine {
  readonly runner: ModelRunner;
  /** Null for small vocabularies. */
  readonly blocks: BlockSession | null;
  /** Adapters for concurrent requests. */
  readonly adapters: readonly AdapterReference[];
  readonly known: KnownAnswers;
}

export interface ModeRun {
  readonly answers: readonly Answer[];
  readonly stepCount: number;
  /** Number of prompt tokens found in the prefix cache. */
  readonly keptCount: number;
  /** Number of drafted tokens that were accepted. */
  readonly draftedCount: number;
  /** Bytes of the KV cache that are still in use when nothing runs. */
  readonly heldBytes: number;
}

export async function runMode(
  { runner, blocks, adapters, known }: ModeEngine,
  { limits, together, rounds = 1, arrivals = () => [] }: Mode,
  requests: readonly GenerationRequest[],
): Promise<ModeRun> {
  const { loop, transcript } = observedLoop(runner, { ...plainLimits, blocks, ...limits(known) });
  let stepCount = 0;
  // Negative keys belong to requests of other clients.
  let otherKey = -1;
  const ask = async (first: number): Promise<void> => {
    let begun = 0;
    const underWay = new Set<number>();
    while (begun < requests.length || underWay.size > 0) {
      for (; begun < requests.length && underWay.size < together; begun++) {
        underWay.add(begun);
        loop.submit(first + begun, requests[begun]);
      }
      for (const other of arrivals(stepCount, adapters)) loop.submit(otherKey--, other);
      await loop.step();
      stepCount += 1;
      for (const index of underWay)
        if (hasEnded(transcript(first + index), requests[index])) underWay.delete(index);
    }
    await finish(loop);
  };
  for (let round = 0; round < rounds; round++) await ask(round * requests.length);
  const last = (rounds - 1) * requests.length;
  return {
    answers: requests.map((request, index) => answerOf(transcript(last + index), request)),
    stepCount,
    keptCount: loop.cachedPrefixes.hits,
    draftedCount: loop.draftCounts.accepted,
    heldBytes: loop.kvCacheBytes,
  };
}

async function finish(loop: ObservedLoop): Promise<void> {
  while (loop.hasWork) await loop.step();
}

function hasEnded(transcript: Transcript, request: GenerationRequest): boolean {
  const isEmbedded = transcript.embedding() !== null;
  return isEmbedded || transcript.failure !== null || transcript.finishes().length === choiceCountOf(request);
}

function answerOf(transcript: Transcript, request: GenerationRequest): Answer {
  return {
    choices: Array.from({ length: choiceCountOf(request) }, (_, choice) => [
      transcript.ids(choice),
      transcript.logprobs(choice),
      transcript.alternatives(choice),
    ]),
    promptLogprobs: transcript.promptLogprobs(),
    finishes: transcript.finishes().toSorted(),
    embedding: transcript.embedding(),
    failure: transcript.failure,
  };
}
