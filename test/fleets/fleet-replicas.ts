// Replicas of a fleet. Each is a stub vLLM server with a small model, and records the requests that it receives.
import { join } from "node:path";
import { seededRandom } from "../../src/base/domain/random.ts";
import { packVocabulary } from "../../src/base/domain/vocabulary.ts";
import { LocalEngine } from "../../src/inference/engine/testing/local-engine.ts";
import { openingOf } from "../../src/inference/engine/opening/model-opening.ts";
import { openModelFolder } from "../../src/inference/engine/opening/open-model-folder.ts";
import { engineSettings } from "../../src/inference/engine/settings.ts";
import { constraintSettings } from "../../src/inference/engine/token-masks/settings.ts";
import { tokensOfFile } from "../../src/lib/constraints/grammar/testing/vocabularies.ts";
import { recordedLatencies } from "../../src/inference/vllm/testing/recorded-latencies.ts";
import type { SentCompletion } from "../../src/inference/vllm/testing/stub-completions.ts";
import { StubVllm } from "../../src/inference/vllm/testing/stub-vllm.ts";
import { silentLogger } from "../../src/base/telemetry/testing/silent-logger.ts";

export const modelFolder = "test/fixtures/small-model";
export const contextLength = 256;
export const vocabularySize = 512;

/** Returns an engine of the model in this process. */
export function smallEngine(cacheFolder: string): LocalEngine {
  const settings = engineSettings.with({ threads: 1, kvCacheBytesMax: 2 ** 24, waitingCountMax: 1000 });
  return new LocalEngine({
    openModel: () =>
      openModelFolder(openingOf({ modelFolder, cacheFolder, quantization: "off", settings }), silentLogger),
    vocabulary: packVocabulary(tokensOfFile(join(modelFolder, "tokenizer.json"))),
    settings,
    constraints: constraintSettings.with(),
    logger: silentLogger,
  });
}

export interface ReplicaOptions {
  readonly count: number;
  readonly cacheFolder: string;
  readonly seed: number;
  readonly onCompletion: (replica: number, body: SentCompletion) => void;
  readonly onLoad: (replica: number, name: string) => void;
}

export function createReplicas({ count, cacheFolder, seed, onCompletion, onLoad }: ReplicaOptions) {
  return Array.from(
    { length: count },
    (_, replica) =>
      new StubVllm({
        behind: smallEngine(cacheFolder),
        contextLength,
        vocabularySize,
        endTokenId: 2,
        logprobCountMax: 20,
        latencies: recordedLatencies(seededRandom("latencies", seed, replica)),
        onAsked: (path, body) => {
          // Safe casts: the stub server reads these bodies with the same types.
          if (path === "/v1/completions") onCompletion(replica, body as SentCompletion);
          if (path === "/v1/load_lora_adapter") onLoad(replica, (body as { lora_name: string }).lora_name);
        },
      }),
  );
}
