// The process that serves, apart from the server in it: what it prints, and how it ends. Nothing here waits for a reader, so
// that neither a paused log viewer nor a stopped terminal holds up the server, its end, or its restart after a crash.
import { flushStandardStreams, standardStream } from "../../../base/telemetry/standard-streams.ts";

/** How long the last lines may take before the process ends without them. */
const lastLinesMs = 2000;

/** Prints to standard output. */
export function printAnswer(text: string): void {
  standardStream(1).write(text);
}

/** Prints to standard error. */
export function printError(text: string): void {
  standardStream(2).write(text);
}

/** Ends the process once its output is written, or nobody has read it for a while. */
export async function endProcess(status: number): Promise<never> {
  await flushStandardStreams(lastLinesMs);
  process.exit(status);
}

/** Prints warnings and uncaught errors of this process itself: Node would write them, and wait for a reader. */
export function printUnexpected(): void {
  process.removeAllListeners("warning");
  process.on("warning", (warning) => printError(`(node) ${warning.name}: ${warning.message}\n`));
  process.on("uncaughtException", (error: unknown) => {
    printError(`hone: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  });
}
