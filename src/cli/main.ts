// The `hone` command: one file a command, thin over the client and the server. Errors are one line, and a status.
// Commands load what they need of the server when they run: a command that only asks a server starts without it.
import { Command } from "commander";
import { fullDiskError } from "../domain/obstacles/full-disk.ts";
import { ServiceError } from "../domain/service-error.ts";
import { HoneError } from "../client/hone-error.ts";
import type { ServerLimits } from "../server/server.ts";
import { endWithoutReader, goOnWithoutReader } from "./closed-output.ts";
import { addChatCommand } from "./commands/chat.ts";
import { addDemoCommand } from "./commands/demo.ts";
import { addInitCommand } from "./commands/init.ts";
import { addJobsCommand } from "./commands/jobs.ts";
import { addKeysCommand } from "./commands/keys.ts";
import { addModelsCommand } from "./commands/models.ts";
import { addSchemasCommand } from "./commands/schemas.ts";
import { addServeCommand } from "./commands/serve.ts";

/**
 * Runs one command line.
 *
 * @param words without the interpreter and the script
 * @param limits in place of those of a server, for `serve`, and for `schemas check`, which does as a server would
 */
export async function main(words: readonly string[], limits: ServerLimits = {}): Promise<void> {
  const program = new Command("hone")
    .description("Serve a language model, record what it says, judge it, and train it to do better.")
    .option("--version", "say which version this is")
    .showHelpAfterError("(--help shows what there is)");
  addServeCommand(program, limits);
  addChatCommand(program);
  addModelsCommand(program);
  addJobsCommand(program);
  addKeysCommand(program);
  addSchemasCommand(program, limits);
  addDemoCommand(program);
  addInitCommand(program);
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
