// For tests: an engine that produces tokens without computing, and breaks down at one particular token.
import { packVocabulary } from "../../../base/domain/vocabulary.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import type { EngineProgress } from "../ipc/serve-engine.ts";
import { constraintSettings } from "../token-masks/settings.ts";
import type { LoopEngineOptions } from "../loop-engine.ts";
import type { PromptPart } from "../model-runner.ts";
import { engineSettings } from "../settings.ts";
import { FakeRunner } from "./fake-runner.ts";
import { LocalEngine } from "./local-engine.ts";

/** A prompt with this token breaks down the engine and ends its process. */
export const fatalTokenId = 13;

class FragileRunner extends FakeRunner {
  override prefill(...args: Parameters<FakeRunner["prefill"]>): ReturnType<FakeRunner["prefill"]> {
    const parts: readonly PromptPart[] = args[2];
    if (parts.some(({ tokenIds }) => tokenIds.includes(fatalTokenId))) throw new Error("a fault in a step");
    return super.prefill(...args);
  }
}

export function fakeEngineOptions(): LoopEngineOptions {
  return {
    openModel: () => Promise.resolve({ runner: new FragileRunner() }),
    vocabulary: packVocabulary([new Uint8Array([0x61])]),
    settings: engineSettings.with({ kvCacheBytesMax: 2 ** 26, transferBytesMax: 2 ** 24 }),
    constraints: constraintSettings.with(),
    logger: silentLogger,
  };
}

/** Creates the fake engine in this process. */
export function createFakeEngine(progress: Partial<EngineProgress> = {}): LocalEngine {
  return new LocalEngine({ ...fakeEngineOptions(), ...progress });
}
