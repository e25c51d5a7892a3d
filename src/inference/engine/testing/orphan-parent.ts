// For one test: a process that starts an engine, reports the start on standard output, and then waits to be killed.
import { systemClock } from "../../../base/domain/clock.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { createEmbeddedEngine } from "../embedded-engine.ts";
import { constraintSettings } from "../token-masks/settings.ts";
import { engineSettings } from "../settings.ts";
import { packVocabulary } from "../../../base/domain/vocabulary.ts";

const engine = createEmbeddedEngine({
  modelFolder: process.argv[2],
  cacheFolder: process.argv[3],
  vocabulary: async () => packVocabulary([]),
  settings: engineSettings.with({ threads: 1, kvCacheBytesMax: 2 ** 26 }),
  constraints: constraintSettings.with(),
  clock: systemClock,
  logger: silentLogger,
  log: { level: "silent", format: "json" },
});
await engine.start();
process.stdout.write("ready\n");
await systemClock.sleep(60_000);
