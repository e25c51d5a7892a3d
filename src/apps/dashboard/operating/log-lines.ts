// Log lines that the page shows, and their filters. Has no side effects.
import type { LogLine } from "../../client/api.ts";

/** Levels, the least severe first. */
export const levels = ["debug", "info", "warn", "error"] as const;

/** Maximum number of lines that the page keeps. */
const linesMax = 500;

/** Returns a level of the URL; `info` if it is missing or unknown. */
export function levelIn(text: string | undefined): LogLine["level"] {
  return levels.find((level) => level === text) ?? "info";
}

/** Returns true if the line's message or fields contain the text, in upper or lower case. */
export function isWanted({ message, fields }: LogLine, text: string): boolean {
  return `${message} ${JSON.stringify(fields)}`.toLowerCase().includes(text.toLowerCase());
}

/** Returns the lines, newest first, with a new line. Drops the oldest line if there are too many. */
export function addLine(lines: readonly LogLine[], line: LogLine): readonly LogLine[] {
  return [line, ...lines].slice(0, linesMax);
}

/** Describes the fields of a line, such as `method=GET status=200`, without those that are null. */
export function fieldsText(fields: LogLine["fields"]): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" ");
}
