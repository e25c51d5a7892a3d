// The log on standard error: a JSON object a line, or lines for people. Never logs secrets or bodies.
import { pino } from "pino";
import { systemClock } from "../domain/clock.ts";
import { peopleLine } from "./people-lines.ts";
import type { RecentLog } from "./recent-log.ts";
import { announceMissingLines, standardStream } from "./standard-streams.ts";

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/** How much is logged, and for whom. */
export interface LogStyle {
  readonly level: LogLevel;
  readonly format: "people" | "json";
}

/** What the rest of the server knows of logging. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A logger whose every line carries these fields too. */
  child(fields: object): Logger;
}

/** What is asked for, or lines for people where somebody looks. */
export function logFormat(asked: "auto" | LogStyle["format"]): LogStyle["format"] {
  if (asked !== "auto") return asked;
  return process.stderr.isTTY ? "people" : "json";
}

/** Writes a line of this process's log; null before there is a log. */
let writeLine: ((json: string) => void) | null = null;

/**
 * Writes to standard error, so that standard output stays for what a command answers. A reader that stops reading holds
 * nothing up: lines are dropped then, and a line in their place says how many.
 *
 * @param recent keeps the lines too, whether or not standard error is read
 */
export function createLogger({ level, format }: LogStyle, recent: RecentLog | null = null): Logger {
  const standardError = standardStream(2);
  const isColoured = format === "people" && process.stderr.isTTY && process.stderr.hasColors();
  const spell = (json: string): string => (format === "json" ? json : peopleLine(json, { isColoured }));
  announceMissingLines(2, (count) => spell(missingLines(count)));
  const write = (json: string): void => {
    recent?.add(json);
    standardError.write(spell(json));
  };
  writeLine = write;
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, { write });
}

/**
 * Writes what a child process wrote to its outputs, in whole lines: log lines, which a child writes as JSON, become lines of
 * this process's log; everything else goes to standard error as it is.
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

/** The library writes the level first. */
const lineStart = '{"level":';

function isLogLine(line: string): boolean {
  if (!line.startsWith(lineStart) || !line.endsWith("\n")) return false;
  try {
    // Safe cast: text that begins so and parses is an object.
    const { level, time, msg } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    return typeof level === "number" && typeof time === "string" && typeof msg === "string";
  } catch {
    // A line that was cut for its length.
    return false;
  }
}

/** As the logger spells a warning. */
function missingLines(count: number): string {
  const msg = "log lines are missing here: nobody read the log for too long";
  return `${JSON.stringify({ level: pino.levels.values["warn"], time: systemClock.now().toISOString(), count, msg })}\n`;
}
