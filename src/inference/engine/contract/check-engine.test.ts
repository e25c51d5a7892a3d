// Runs the contract tests on every engine of this project: the embedded engine (in this process), the naive reference
// engine, an engine that is loaded on demand, and two engines over HTTP. One of these two has all of vLLM's features,
// the other only sampling.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { systemClock } from "../../../base/domain/clock.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import type { LocalEngine } from "../testing/local-engine.ts";
import { ModelMemory } from "../model-swapping/model-memory.ts";
import { OnDemandEngine } from "../model-swapping/on-demand-engine.ts";
import { modelSettings } from "../../models/registry/settings.ts";
import {
  embeddedEngine,
  embeddedUnderTest,
  emptyFolder,
  roundedUnderTest,
} from "../testing/embedded-under-test.ts";
import { HttpEngine } from "../testing/http-engine.ts";
import { NaiveEngine } from "../testing/naive-engine.ts";
import { checkEngine } from "./check-engine.ts";
import { type EngineUnderTest, modelFolder, vocabulary } from "./engine-under-test.ts";

const cacheFolder = mkdtempSync(join(tmpdir(), "hone-engine-"));
after(() => rmSync(cacheFolder, { recursive: true }));

// These engines are created before any test is registered, because registered tests start as soon as the module awaits
// something.
const rounded = [await roundedUnderTest(cacheFolder, "8"), await roundedUnderTest(cacheFolder, "4")];
const embedded = (folder: string, waitingCountMax: number): LocalEngine =>
  embeddedEngine({ folder, cacheFolder, waitingCountMax });

checkEngine(embeddedUnderTest(cacheFolder));
for (const under of rounded) checkEngine(under, 2);

const naive = {
  name: "naive engine",
  make: ({ waitingCountMax }) => new NaiveEngine({ modelFolder, vocabulary, waitingCountMax }),
  failing: {
    code: "not_found",
    make: () => new NaiveEngine({ modelFolder: emptyFolder, vocabulary, waitingCountMax: 1 }),
  },
} as const satisfies EngineUnderTest;
checkEngine(naive, 2);

const onDemand = (folder: string, waitingCountMax: number): OnDemandEngine =>
  new OnDemandEngine({
    name: "qwen3",
    make: () => embedded(folder, waitingCountMax),
    memory: new ModelMemory({
      limits: { bytesMax: 2, keepAliveMs: Infinity, turnMs: 0, pauseMs: 0 },
      waitMs: modelSettings.with().roomWaitMs,
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
  2,
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
  checkEngine(under, features.length === 0 ? 2 : 6);
}
