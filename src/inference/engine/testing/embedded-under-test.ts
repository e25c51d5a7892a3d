// The embedded engine in this process, for the engine's contract tests.
import type { Quantization } from "../../../base/domain/model.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { answerOf, ask, modelFolder, recorded, vocabulary } from "../contract/engine-under-test.ts";
import type { EngineUnderTest } from "../contract/engine-under-test.ts";
import { LocalEngine } from "./local-engine.ts";
import { openingOf } from "../opening/model-opening.ts";
import { openModelFolder } from "../opening/open-model-folder.ts";
import { engineSettings, type EngineSettings } from "../settings.ts";
import { constraintSettings } from "../token-masks/settings.ts";

/**
 * Settings with so little room that prompts are computed in parts, choices run in groups, and requests wait for one
 * another.
 */
const narrow = {
  threads: 1,
  kvCacheBytesMax: 2 ** 22,
  slotCountMax: 12,
  tokensPerStepMax: 32,
  promptChunkTokens: 16,
  scheduling: "priority",
} as const satisfies Partial<EngineSettings>;

/** A folder without a model. */
export const emptyFolder = "test/fixtures/goldens/training";

export interface EmbeddedOptions {
  readonly folder?: string;
  readonly cacheFolder: string;
  readonly waitingCountMax: number;
  readonly quantization?: Quantization;
}

export function embeddedEngine({
  folder = modelFolder,
  cacheFolder,
  waitingCountMax,
  quantization = "off",
}: EmbeddedOptions): LocalEngine {
  const settings = engineSettings.with({ ...narrow, waitingCountMax });
  const opening = openingOf({ modelFolder: folder, cacheFolder, quantization, settings });
  return new LocalEngine({
    openModel: () => openModelFolder(opening, silentLogger),
    vocabulary,
    settings,
    constraints: constraintSettings.with(),
    logger: silentLogger,
  });
}

/** Tolerance for log-probabilities computed with rounded weights, by the number of bits of most weights. */
const toleranceOf = { "8": 0.1, "4": 1 } as const;

/**
 * Returns the engine with rounded weights. This function waits for the engine's answers, and registered tests start as
 * soon as a module waits. Call it before any test is registered.
 */
export async function roundedUnderTest(cacheFolder: string, bits: "8" | "4"): Promise<EngineUnderTest> {
  const make = (waitingCountMax: number, folder?: string): LocalEngine =>
    embeddedEngine({ folder, cacheFolder, waitingCountMax, quantization: bits });
  const engine = make(1);
  await engine.start();
  const answer = await answerOf(engine, ask({ maxTokens: recorded.answer.length }));
  await engine.stop();
  return {
    name: `embedded engine with weights of ${bits} bits`,
    make: ({ waitingCountMax }) => make(waitingCountMax),
    failing: { code: "not_found", make: () => make(1, emptyFolder) },
    rounding: { answer: answer.ids(), logprobTolerance: toleranceOf[bits] },
  };
}

/** Returns the engine with float32 weights. */
export function embeddedUnderTest(cacheFolder: string): EngineUnderTest {
  return {
    name: "embedded engine",
    make: ({ waitingCountMax }) => embeddedEngine({ cacheFolder, waitingCountMax }),
    failing: {
      code: "not_found",
      make: () => embeddedEngine({ folder: emptyFolder, cacheFolder, waitingCountMax: 1 }),
    },
  };
}
