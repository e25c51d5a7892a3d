// Log lines that the page shows, and their filters. Has no side effects.
import type { LogLine } from "../../client/api.ts";
import { msText } from "../components/numbers.ts";

/** Levels, the least severe first. */
export const levels = ["debug", "info", "warn", "error"] as const;

/** Maximum number of lines that the page keeps. */
export const linesMax = 500;

/** Returns a level of the URL; `info` if it is missing or unknown. */
export function levelIn(text: string | undefined): LogLine["level"] {
  return levels.find((level) => level === text) ?? "info";
}

/** Returns true if the line's message or fields contain the text, in upper or lower case. */
export function isWanted({ message, fields }: LogLine, text: string): boolean {
  return `${message} ${JSON.stringify(fields)}`.toLowerCase().includes(text.toLowerCase());
}

/** Message of the lines about answered requests. */
const requestMessage = "request answered";

/** Routes of the page's files and live data. */
const pageRoutes = /^\/($|assets\/|guide|v1\/preview\/(summary|logs|key)$)/;

/**
 * Returns true for a line about a request that pages such as this one send by themselves: a successful request for the
 * page's files or live data, or a successful read with the user's key.
 *
 * @param keyId id of the user's key
 */
export function isOfPage(
  { message, fields: { method, route, status, keyId: key } }: LogLine,
  keyId: string,
): boolean {
  if (message !== requestMessage || typeof route !== "string" || typeof status !== "number") return false;
  if (status >= 400 && status !== 499) return false;
  const isRead = method === "GET" || /\/(query|stats)$/.test(route);
  return isRead && (key === keyId || pageRoutes.test(route));
}

/** Returns the lines, newest first, with a new line. Drops the oldest line if there are too many. */
export function addLine(lines: readonly LogLine[], line: LogLine): readonly LogLine[] {
  return [line, ...lines].slice(0, linesMax);
}

/** Returns the texts of a line. For an answered request, the message is its method, route, status and duration. */
export function lineTexts({ message, fields }: LogLine): {
  readonly message: string;
  readonly fields: string;
} {
  const { method, route, status, durationMs, ...others } = fields;
  if (message !== requestMessage || typeof durationMs !== "number")
    return { message, fields: fieldsText(fields) };
  const duration = msText(Number(durationMs.toPrecision(3)));
  return {
    message: `${String(method)} ${String(route)} ${String(status)}, ${duration}`,
    fields: fieldsText(others),
  };
}

/** Describes the fields of a line, such as `method=GET status=200`, without those that are null. */
export function fieldsText(fields: LogLine["fields"]): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : shortJson(value)}`)
    .join(" ");
}

/** Returns JSON whose numbers have at most four significant digits after the point. */
function shortJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "number" && !Number.isInteger(part) ? Number(part.toPrecision(4)) : part,
  );
}
