// Entry point of the `hone` command. An error is printed to standard error and sets exit status 1.
import type { SettingsOverrides } from "../server/settings.ts";
import { exitOnClosedOutput, ignoreClosedOutput } from "./closed-output.ts";
import { errorText } from "./error-text.ts";
import { createProgram } from "./program.ts";

/**
 * Runs one command line.
 *
 * @param words words after the interpreter and the script
 * @param limits overrides of the server's limits, for the commands `serve` and `schemas check`
 */
export async function main(words: readonly string[], limits: SettingsOverrides = {}): Promise<void> {
  const program = createProgram(limits);
  if (words[0] === "serve") ignoreClosedOutput();
  else exitOnClosedOutput();
  try {
    if (words[0] === "--version") await sayVersion();
    else await program.parseAsync([...words], { from: "user" });
  } catch (cause) {
    process.stderr.write(errorText(cause));
    process.exitCode = 1;
  }
}

async function sayVersion(): Promise<void> {
  const { packageVersion } = await import("../server/package.ts");
  process.stdout.write(`${packageVersion()}\n`);
}
