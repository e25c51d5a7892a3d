// The output and the exit of the server's process. The process never waits for a reader of its output, so a paused log
// viewer or a stopped terminal cannot delay requests, an exit or a restart.
import { flushStandardStreams, standardStream } from "../../../base/telemetry/standard-streams.ts";

/** Maximum time in milliseconds to write the last lines before the process exits without them. */
const lastLinesMs = 2000;

/** Prints to standard output. */
export function printAnswer(text: string): void {
  standardStream(1).write(text);
}

/** Prints to standard error. */
export function printError(text: string): void {
  standardStream(2).write(text);
}

/** Exits once the output is written, at the latest after two seconds. */
export async function endProcess(status: number): Promise<never> {
  await flushStandardStreams(lastLinesMs);
  process.exit(status);
}

/**
 * Prints warnings and uncaught errors of this process without blocking. Node.js's own handlers would wait for a
 * reader.
 */
export function printUnexpected(): void {
  process.removeAllListeners("warning");
  process.on("warning", (warning) => printError(`(node) ${warning.name}: ${warning.message}\n`));
  process.on("uncaughtException", (error: unknown) => {
    printError(`hone: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  });
}
