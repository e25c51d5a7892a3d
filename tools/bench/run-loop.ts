// Runs the engine's loop under a load for benchmarks, in this process and without a child process, text or HTTP.
import { availableParallelism } from "node:os";
import { systemClock } from "../../src/base/domain/clock.ts";
import type { GenerationEvent, GenerationRequest } from "../../src/base/domain/generation.ts";
import { EngineLoop } from "../../src/inference/engine/loop/engine-loop.ts";
import { BlockSession } from "../../src/inference/engine/logits/blocks/block-session.ts";
import type { ModelRunner } from "../../src/inference/engine/model-runner.ts";

/**
 * Returns the number of generated tokens per second. `streams` requests run concurrently; when one ends, the next
 * starts.
 */
export async function loopTokensPerSecond(
  runner: ModelRunner,
  requests: readonly GenerationRequest[],
  streams = requests.length,
  threads = availableParallelism(),
): Promise<number> {
  let tokenCount = 0;
  let endedCount = 0;
  const blocks = await BlockSession.open(runner.shape.vocabularySize, threads);
  const loop = new EngineLoop(runner, {
    blocks,
    slotCountMax: 128,
    kvCacheBytesMax: 2 ** 32,
    prefixCachePercent: 0,
    tokensPerStepMax: 512,
    promptChunkTokens: 512,
  });
  const output = {
    push: (event: GenerationEvent) => {
      if (event.kind === "tokens") tokenCount += event.tokens.length;
      else if (event.kind === "choice-finished") endedCount += 1;
    },
    fail: (error: Error) => {
      throw error;
    },
  };
  // The first call creates objects that all later calls reuse.
  await blocks?.blocksOf([{ logits_V: new Float32Array(runner.shape.vocabularySize), temperature: 1 }]);
  const startMs = systemClock.monotonicMs();
  let submittedCount = 0;
  for (;;) {
    const wanted = Math.min(requests.length, endedCount + streams);
    for (; submittedCount < wanted; submittedCount++) loop.submit(requests[submittedCount], output);
    if (!loop.hasWork) break;
    await loop.step();
  }
  const tokensPerSecond = (1000 * tokenCount) / (systemClock.monotonicMs() - startMs);
  await blocks?.close();
  return tokensPerSecond;
}
