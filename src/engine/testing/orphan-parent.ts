// For one test: a process that starts an engine, says so on standard output, and then waits to be killed.
import { systemClock } from "../../domain/clock.ts";
import { defaultsOf } from "../../domain/settings.ts";
import { silentLogger } from "../../telemetry/testing/silent-logger.ts";
import { createEmbeddedEngine } from "../embedded-engine.ts";
import { constraintSettings } from "../token-masks/settings.ts";
import { engineSettings } from "../settings.ts";
import { packVocabulary } from "../../domain/vocabulary.ts";

const engine = createEmbeddedEngine({
  modelFolder: process.argv[2],
  cacheFolder: process.argv[3],
  vocabulary: packVocabulary([]),
  settings: { ...defaultsOf(engineSettings), threads: 1, kvCacheBytesMax: 2 ** 26 },
  constraints: defaultsOf(constraintSettings),
  clock: systemClock,
  logger: silentLogger,
  log: { level: "silent", format: "json" },
});
await engine.start();
process.stdout.write("ready\n");
await systemClock.sleep(60_000);
