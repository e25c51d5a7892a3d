// Prints JSON: the whole document, or with --select only some of its fields, as lines for shell scripts.
import type { Command } from "commander";
import { invalid, quoted } from "../../base/domain/service-error.ts";
import { commandsOf } from "./examples.ts";

export interface JsonFlag {
  readonly json?: boolean;
  /** Field names, separated by commas. */
  readonly select?: string;
}

/** Flag and description of --select. */
export const selectFlag = [
  "--select <fields>",
  "print only these fields of the JSON, separated by tabs; example: id,progress.prepared",
] as const;

/** Adds the flag --select to all commands with --json. The flag implies --json. */
export function addSelectFlags(program: Command): void {
  for (const [, command] of commandsOf(program))
    if (command.options.some(({ long }) => long === "--json")) command.option(...selectFlag);
  program.hook("preAction", (_, command) => {
    if (command.opts<JsonFlag>().select !== undefined) command.setOptionValue("json", true);
  });
}

/**
 * Prints an indented document, or the lines that --select asks for.
 *
 * @throws ServiceError `invalid` for a field that no record has
 */
export function printJson(value: unknown, { select }: JsonFlag): void {
  const text =
    select === undefined ? `${JSON.stringify(value, null, 2)}\n` : selectedLines(value, select).join("");
  process.stdout.write(text);
}

/** Prints one line of a stream: a JSON object, or its fields that --select asks for. Missing fields are empty. */
export function printJsonLine(value: unknown, { select }: JsonFlag): void {
  const line = select === undefined ? JSON.stringify(value) : lineOf(value, namesIn(select));
  process.stdout.write(`${line}\n`);
}

/** Returns a line per element of a list, or one line for any other value. */
export function selectedLines(value: unknown, select: string): readonly string[] {
  const records: readonly unknown[] = Array.isArray(value) ? value : [value];
  const names = namesIn(select);
  const missing = names.find((name) => records.every((record) => fieldOf(record, name) === undefined));
  if (missing !== undefined && records.length > 0) {
    const known = typeof records[0] === "object" ? Object.keys(records[0] ?? {}) : [];
    throw invalid(`There is no field ${quoted(missing)}; the fields are ${known.join(", ")}.`);
  }
  return records.map((record) => `${lineOf(record, names)}\n`);
}

function namesIn(select: string): readonly string[] {
  const names = select.split(",").map((name) => name.trim());
  if (names.includes("")) throw invalid(`--select is ${quoted(select)}; write field names such as id,state.`);
  return names;
}

function lineOf(record: unknown, names: readonly string[]): string {
  return names.map((name) => cellOf(fieldOf(record, name))).join("\t");
}

/** Returns the value at a path such as `progress.prepared` or `choices.0`. A key that has dots itself comes first. */
function fieldOf(value: unknown, path: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  // Safe cast: only own properties are read.
  const fields = value as Readonly<Record<string, unknown>>;
  if (Object.hasOwn(fields, path)) return fields[path];
  for (let dot = path.indexOf("."); dot >= 0; dot = path.indexOf(".", dot + 1)) {
    const name = path.slice(0, dot);
    const found = Object.hasOwn(fields, name) ? fieldOf(fields[name], path.slice(dot + 1)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns a text as it is, but with its tabs and line breaks as spaces; any other value as JSON. */
function cellOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value.replaceAll(/[\t\r\n]+/g, " ") : JSON.stringify(value);
}
