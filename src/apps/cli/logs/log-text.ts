// Formats a line of a server's log as text: time, level, message, and fields as name=value.
import type { LogLine } from "../../client/api.ts";

export interface LogTextOptions {
  readonly isColoured: boolean;
}

/** Returns the formatted line with a line break at its end; an error's stack follows on indented lines. */
export function logText({ time, level, message, fields }: LogLine, { isColoured }: LogTextOptions): string {
  const paint = (text: string, code: string): string =>
    isColoured && code !== "" ? `\u001b[${code}m${text}\u001b[0m` : text;
  const { err, ...rest } = fields;
  const parts = [
    paint(localTime(new Date(time)), dim),
    paint(level.padEnd(5), colours[level]),
    plain(message),
    ...Object.entries(rest).map(([name, value]) => paint(`${plain(name)}=${plain(valueText(value))}`, dim)),
  ];
  return `${parts.join("  ")}\n${errorText(err)}`;
}

const dim = "2";
const colours: Readonly<Record<LogLine["level"], string>> = { debug: dim, info: "", warn: "33", error: "31" };

/** Replaces control characters, so that logged text cannot control the terminal. */
function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Co}]/gu, "�");
}

/** Formats a time in the local time zone, as in `2026-11-28 22:40:50.123`. */
function localTime(time: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(":");
  return `${day} ${clock}.${String(time.getMilliseconds()).padStart(3, "0")}`;
}

/** Returns a string unchanged if it needs no quotes, and any other value as JSON. */
function valueText(value: unknown): string {
  return typeof value === "string" && /^[^\s="]+$/.test(value) ? value : JSON.stringify(value);
}

/** Returns an error's stack, indented; empty if the log line has no error. */
function errorText(error: unknown): string {
  if (error === undefined) return "";
  const stack = typeof error === "object" && error !== null && "stack" in error ? error.stack : null;
  return (typeof stack === "string" ? stack : JSON.stringify(error))
    .split("\n")
    .map((line) => `    ${plain(line)}\n`)
    .join("");
}
