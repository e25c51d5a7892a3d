// The `hone` command: runs one command line. Errors are one line, and a status.
import { fullDiskError } from "../domain/obstacles/full-disk.ts";
import { ServiceError } from "../domain/service-error.ts";
import { HoneError } from "../client/hone-error.ts";
import type { ServerLimits } from "../server/server.ts";
import { endWithoutReader, goOnWithoutReader } from "./closed-output.ts";
import { createProgram } from "./program.ts";

/**
 * Runs one command line.
 *
 * @param words without the interpreter and the script
 * @param limits in place of those of a server, for `serve`, and for `schemas check`, which does as a server would
 */
export async function main(words: readonly string[], limits: ServerLimits = {}): Promise<void> {
  const program = createProgram(limits);
  if (words[0] === "serve") goOnWithoutReader();
  else endWithoutReader();
  try {
    if (words[0] === "--version") await sayVersion();
    else await program.parseAsync([...words], { from: "user" });
  } catch (cause) {
    const error = fullDiskError(cause) ?? cause;
    if (error instanceof ServiceError || error instanceof HoneError)
      process.stderr.write(`hone: ${error.message}\n`);
    else
      process.stderr.write(
        `hone: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
      );
    process.exitCode = 1;
  }
}

async function sayVersion(): Promise<void> {
  const { packageVersion } = await import("../server/package.ts");
  process.stdout.write(`${packageVersion()}\n`);
}
