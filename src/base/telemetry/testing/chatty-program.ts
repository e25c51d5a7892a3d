// For tests: a program that logs more than any pipe holds, then writes to a file that it is still running, and then
// ends.
import { writeFileSync } from "node:fs";
import { createLogger } from "../logger.ts";
import { flushStandardStreams, standardStream } from "../standard-streams.ts";

const [aliveFile, lineCount, flushMs = "100"] = process.argv.slice(2);
const logger = createLogger({ level: "info", format: "json" });
for (let number = 0; number < Number(lineCount); number++)
  logger.info({ number, filler: "x".repeat(200) }, "line");
await new Promise((resolve) => setImmediate(resolve));
writeFileSync(aliveFile, `${standardStream(2).droppedCount}`);
await flushStandardStreams(Number(flushMs));
process.exit(0);
