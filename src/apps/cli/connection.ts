// Finds the server and the API key for a command. Flags come first, then environment variables. The key in the data
// folder comes last.
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { requirePlainFile } from "../../base/domain/transient-errors/plain-file.ts";
import { Hone } from "../client/hone.ts";
import { readClientSettings } from "../server/config.ts";
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

/** The flag `--json`, for machine-readable output. */
export interface JsonFlag {
  readonly json?: boolean;
}

/** Prints a command's result: `value` as a JSON document with `--json`, otherwise `line`. */
export function printResult(value: unknown, line: string, { json }: JsonFlag): void {
  process.stdout.write(json === true ? `${JSON.stringify(value, null, 2)}\n` : `${line}\n`);
}

/**
 * Prints rows as a JSON document with `--json`, otherwise as a table. On a terminal, the table fits the terminal's
 * width. In other outputs, values are never cut.
 */
export function printRows(
  rows: readonly Readonly<Record<string, unknown>>[],
  options: { readonly json?: boolean; readonly columns: readonly string[] },
): void {
  if (options.json === true) {
    process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
    return;
  }
  if (rows.length === 0) {
    process.stdout.write("none\n");
    return;
  }
  const table = [options.columns, ...rows.map((row) => options.columns.map((column) => cell(row[column])))];
  const width = process.stdout.isTTY ? process.stdout.columns : Infinity;
  process.stdout.write(tableText(table, width));
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "-";
  return typeof value === "string" ? value : JSON.stringify(value);
}
