// Finds the server and the API key for a command. Flags come first, then environment variables. The key in the data
// folder comes last.
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { requirePlainFile } from "../../base/domain/transient-errors/plain-file.ts";
import { Hone } from "../client/hone.ts";
import { readClientSettings } from "../server/config.ts";
import { type JsonFlag, printJson } from "./json-output.ts";
import { printable } from "./chat/display-width.ts";
import { tableText } from "./table-text.ts";

export interface ConnectionFlags {
  readonly url?: string;
  readonly key?: string;
  readonly data?: string;
}

/** Adds the flags that every command with a server connection has. */
export function addConnectionFlags(command: Command): Command {
  return command
    .option(
      "--url <address>",
      "address of the server (HONE_BASE_URL or HONE_URL; default http://127.0.0.1:8000)",
    )
    .option("--key <key>", "API key (HONE_API_KEY; default: the admin key in the data folder)")
    .option("--data <folder>", "data folder with the admin key (HONE_DATA; default .hone)");
}

/** Returns a client for the server at `--url`. Without this flag, uses the address in the environment variables. */
export function connect(flags: ConnectionFlags): Hone {
  const settings = readClientSettings();
  const keyFile = join(flags.data ?? settings.data, "admin-key");
  if (existsSync(keyFile)) requirePlainFile(keyFile, statSync(keyFile));
  const kept = existsSync(keyFile) ? readFileSync(keyFile, "utf8").trim() : null;
  return new Hone({
    baseUrl: flags.url ?? settings.url,
    apiKey: flags.key ?? settings.apiKey ?? kept,
    // No retries: a user at a terminal should see an error immediately.
    retries: 0,
  });
}

/** Prints a command's result: `value` as a JSON document with `--json`, otherwise `line`. */
export function printResult(value: unknown, line: string, flags: JsonFlag): void {
  if (flags.json === true) printJson(value, flags);
  else process.stdout.write(`${line}\n`);
}

/**
 * Prints rows as a JSON document with `--json`, otherwise as a table. On a terminal, the table fits the terminal's
 * width. In other outputs, values are never cut.
 */
export function printRows(
  rows: readonly Readonly<Record<string, unknown>>[],
  options: JsonFlag & { readonly columns: readonly string[] },
): void {
  if (options.json === true) {
    printJson(rows, options);
    return;
  }
  if (rows.length === 0) {
    process.stdout.write("none\n");
    return;
  }
  const table = [options.columns, ...rows.map((row) => options.columns.map((column) => cell(row[column])))];
  const width = process.stdout.isTTY ? process.stdout.columns : Infinity;
  const { text, left } = tableText(table, width);
  process.stdout.write(text);
  if (left.length > 0)
    process.stderr.write(`(the terminal is too narrow for ${left.join(", ")}; --json prints all columns)\n`);
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "-";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  // A value may come from a model. Control characters could break the table or control the terminal.
  return printable(text.replaceAll(/[\t\r\n]+/g, " "));
}
