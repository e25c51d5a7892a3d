// The engines of this project under the one contract: the embedded one, in this process, and the naive twin; one that is
// loaded when it is needed; and what is reached over HTTP, with what vLLM offers, and with nothing but sampling.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { systemClock } from "../../domain/clock.ts";
import { silentLogger } from "../../telemetry/testing/silent-logger.ts";
import { constraintSettingsWith } from "../token-masks/settings.ts";
import { LoopEngine } from "../loop-engine.ts";
import { ModelMemory } from "../on-demand/model-memory.ts";
import { OnDemandEngine } from "../on-demand/on-demand-engine.ts";
import { sharedMemorySettingsWith } from "../on-demand/settings.ts";
import type { Quantization } from "../../domain/model.ts";
import { openingOf } from "../opening/model-opening.ts";
import { openModelFolder } from "../opening/open-model-folder.ts";
import { engineSettingsWith, type EngineSettings } from "../settings.ts";
import { HttpEngine } from "../testing/http-engine.ts";
import { NaiveEngine } from "../testing/naive-engine.ts";
import { checkEngine } from "./check-engine.ts";
import {
  answerOf,
  ask,
  type EngineUnderTest,
  modelFolder,
  recorded,
  vocabulary,
} from "./engine-under-test.ts";

const cacheFolder = mkdtempSync(join(tmpdir(), "hone-engine-"));
after(() => rmSync(cacheFolder, { recursive: true }));

/** So little room that prompts are computed in parts, choices in portions, and requests wait for one another. */
const narrow = {
  threads: 1,
  kvCacheBytesMax: 2 ** 22,
  slotCountMax: 12,
  tokensPerStepMax: 32,
  promptChunkTokens: 16,
  scheduling: "priority",
} as const satisfies Partial<EngineSettings>;

const embedded = (
  folder: string,
  waitingCountMax: number,
  quantization: Quantization = "off",
): LoopEngine => {
  const settings = engineSettingsWith({ ...narrow, waitingCountMax });
  return new LoopEngine({
    openModel: () =>
      openModelFolder(openingOf({ modelFolder: folder, cacheFolder, quantization, settings }), silentLogger),
    vocabulary,
    settings,
    constraints: constraintSettingsWith(),
    logger: silentLogger,
  });
};

async function answerAlone(engine: LoopEngine): Promise<readonly number[]> {
  await engine.start();
  const answer = await answerOf(engine, ask({ maxTokens: recorded.answer.length }));
  await engine.stop();
  return answer.ids();
}

// Before the first test is registered: tests begin when a module waits.
const answers = {
  "8": await answerAlone(embedded(modelFolder, 1, "8")),
  "4": await answerAlone(embedded(modelFolder, 1, "4")),
} as const;

/** Holds no model. */
const emptyFolder = "test/fixtures/goldens/training";

checkEngine({
  name: "embedded engine",
  make: ({ waitingCountMax }) => embedded(modelFolder, waitingCountMax),
  failing: { code: "not_found", make: () => embedded(emptyFolder, 1) },
});

for (const [bits, logprobTolerance] of [
  ["8", 0.1],
  ["4", 1],
] as const) {
  const under: EngineUnderTest = {
    name: `embedded engine with weights of ${bits} bits`,
    make: ({ waitingCountMax }) => embedded(modelFolder, waitingCountMax, bits),
    failing: { code: "not_found", make: () => embedded(emptyFolder, 1, bits) },
    rounding: { answer: answers[bits], logprobTolerance },
  };
  checkEngine(under, 4);
}

const naive = {
  name: "naive engine",
  make: ({ waitingCountMax }) => new NaiveEngine({ modelFolder, vocabulary, waitingCountMax }),
  failing: {
    code: "not_found",
    make: () => new NaiveEngine({ modelFolder: emptyFolder, vocabulary, waitingCountMax: 1 }),
  },
} as const satisfies EngineUnderTest;
checkEngine(naive, 3);

const onDemand = (folder: string, waitingCountMax: number): OnDemandEngine =>
  new OnDemandEngine({
    name: "qwen3",
    make: () => embedded(folder, waitingCountMax),
    memory: new ModelMemory({
      limits: { bytesMax: 2, keepAliveMs: Infinity, turnMs: 0, pauseMs: 0 },
      ...sharedMemorySettingsWith(),
      waitingCountMax,
      clock: systemClock,
    }),
    bytes: 1,
    isReadyAtStart: true,
    isKept: true,
    logger: silentLogger,
  });
checkEngine(
  {
    name: "engine on demand",
    make: ({ waitingCountMax }) => onDemand(modelFolder, waitingCountMax),
    failing: { code: "not_found", make: () => onDemand(emptyFolder, 1) },
  },
  3,
);

for (const [name, features] of [
  [
    "engine over HTTP",
    [
      "min-p",
      "penalties",
      "logit-bias",
      "allowed-token-ids",
      "bad-words",
      "min-tokens",
      "prompt-logprobs",
      "cache-salt",
      "constraint-json-schema",
      "constraint-json-object",
      "constraint-regex",
      "constraint-choice",
    ],
  ],
  ["engine over HTTP that samples", []],
] as const) {
  const make = (waitingCountMax: number, isDown: boolean): HttpEngine =>
    new HttpEngine({ features, waitingCountMax, behind: embedded(modelFolder, 1000), isDown });
  const under: EngineUnderTest = {
    name,
    make: ({ waitingCountMax }) => make(waitingCountMax, false),
    failing: { code: "unavailable", make: () => make(1, true) },
  };
  checkEngine(under, features.length === 0 ? 3 : 8);
}
