// The process around the server: its output, and its exit. It never waits for a reader of its output, so that a paused
// log viewer or a stopped terminal delays neither the server nor its end or restart.
import { flushStandardStreams, standardStream } from "../../../base/telemetry/standard-streams.ts";

/** Maximum time for the last lines before the process exits without them. */
const lastLinesMs = 2000;

/** Prints to standard output. */
export function printAnswer(text: string): void {
  standardStream(1).write(text);
}

/** Prints to standard error. */
export function printError(text: string): void {
  standardStream(2).write(text);
}

/** Exits once the output is written, or nobody has read it for a while. */
export async function endProcess(status: number): Promise<never> {
  await flushStandardStreams(lastLinesMs);
  process.exit(status);
}

/** Prints warnings and uncaught errors of this process: Node would wait for a reader. */
export function printUnexpected(): void {
  process.removeAllListeners("warning");
  process.on("warning", (warning) => printError(`(node) ${warning.name}: ${warning.message}\n`));
  process.on("uncaughtException", (error: unknown) => {
    printError(`hone: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  });
}
