// The log on standard error: a JSON object per line, or readable lines. It never contains secrets or bodies.
import { pino } from "pino";
import { systemClock } from "../domain/clock.ts";
import { formatForPeople } from "./people-lines.ts";
import type { RecentLog } from "./recent-log.ts";
import { announceMissingLines, standardStream } from "./standard-streams.ts";

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/** Minimum level and format of the log's lines. */
export interface LogStyle {
  readonly level: LogLevel;
  readonly format: "people" | "json";
}

/** Interface that other modules use to write log lines. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** Returns a logger that adds these fields to every line. */
  child(fields: object): Logger;
}

/** Returns the format to use: the requested one; for `auto`, readable lines on a terminal and JSON otherwise. */
export function logFormat(asked: "auto" | LogStyle["format"]): LogStyle["format"] {
  if (asked !== "auto") return asked;
  return process.stderr.isTTY ? "people" : "json";
}

/** Writes a line to this process's log; null until a logger is created. */
let writeLine: ((json: string) => void) | null = null;

/**
 * Creates a logger on standard error, because standard output is for the results of commands. A reader that stops
 * reading does not block the process: lines are dropped, and a line with their number takes their place.
 *
 * @param recent also keeps the lines in memory, even if nobody reads standard error
 */
export function createLogger({ level, format }: LogStyle, recent: RecentLog | null = null): Logger {
  const standardError = standardStream(2);
  const isColoured = format === "people" && process.stderr.isTTY && process.stderr.hasColors();
  const spell = (json: string): string => (format === "json" ? json : formatForPeople(json, { isColoured }));
  announceMissingLines(2, (count) => spell(missingLines(count)));
  const write = (json: string): void => {
    recent?.add(json);
    standardError.write(spell(json));
  };
  writeLine = write;
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, { write });
}

/**
 * Writes the output of a child process, which must be complete lines. Log lines, which a child writes as JSON, become
 * lines of this process's log. All other lines go to standard error unchanged.
 */
export function forwardOutput(text: string): void {
  if (writeLine === null || !text.includes(lineStart)) {
    standardStream(2).write(text);
    return;
  }
  for (const line of text.split(/(?<=\n)/)) {
    if (isLogLine(line)) writeLine(line);
    else standardStream(2).write(line);
  }
}

/** Beginning of a log line in JSON: the logging library writes the level first. */
const lineStart = '{"level":';

function isLogLine(line: string): boolean {
  if (!line.startsWith(lineStart) || !line.endsWith("\n")) return false;
  try {
    // Safe cast: valid JSON that begins like this is an object.
    const { level, time, msg } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    return typeof level === "number" && typeof time === "string" && typeof msg === "string";
  } catch {
    // If the line is no valid JSON, it was cut because of its length.
    return false;
  }
}

/** Returns the line that announces dropped lines. It has the form of the logger's warnings. */
function missingLines(count: number): string {
  const msg = "log lines are missing here: the log was not read for too long";
  return `${JSON.stringify({ level: pino.levels.values["warn"], time: systemClock.now().toISOString(), count, msg })}\n`;
}
