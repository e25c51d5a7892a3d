// The engines of this project under the one contract: the embedded one in its child process, and the naive twin.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { systemClock } from "../../domain/clock.ts";
import { defaultsOf } from "../../domain/settings.ts";
import { silentLogger } from "../../telemetry/logger.ts";
import { createChildEngine } from "../child-engine.ts";
import { constraintSettings } from "../constraints/settings.ts";
import { engineSettings, type EngineSettings } from "../settings.ts";
import { NaiveEngine } from "../testing/naive-engine.ts";
import { checkEngine } from "./check-engine.ts";
import { modelFolder, vocabulary } from "./engine-under-test.ts";

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

const embedded = (settings: Partial<EngineSettings>) =>
  createChildEngine({
    modelFolder,
    cacheFolder,
    vocabulary,
    settings: { ...defaultsOf(engineSettings), ...narrow, ...settings },
    constraints: defaultsOf(constraintSettings),
    clock: systemClock,
    logger: silentLogger,
    log: { level: "silent", format: "json" },
  });

checkEngine({
  name: "embedded engine",
  make: embedded,
  failing: { code: "timeout", make: () => embedded({ startDeadlineMs: 1 }) },
});

checkEngine({
  name: "naive engine",
  make: ({ waitingCountMax }) => new NaiveEngine({ modelFolder, vocabulary, waitingCountMax }),
  failing: {
    code: "not_found",
    make: () =>
      new NaiveEngine({ modelFolder: "test/fixtures/goldens/training", vocabulary, waitingCountMax: 1 }),
  },
});
