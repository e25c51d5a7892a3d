// The log on standard error: a JSON object a line, or lines for people. Never logs secrets or bodies.
import { pino } from "pino";
import { systemClock } from "../domain/clock.ts";
import { peopleLine } from "./people-lines.ts";
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

/**
 * Writes to standard error, so that standard output stays for what a command answers. A reader that stops reading holds
 * nothing up: lines are dropped then, and a line in their place says how many.
 */
export function createLogger({ level, format }: LogStyle): Logger {
  const standardError = standardStream(2);
  const isColoured = format === "people" && process.stderr.isTTY && process.stderr.hasColors();
  const spell = (json: string): string => (format === "json" ? json : peopleLine(json, { isColoured }));
  announceMissingLines(2, (count) => spell(missingLines(count)));
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (json: string) => standardError.write(spell(json)) },
  );
}

/** As the logger spells a warning. */
function missingLines(count: number): string {
  const msg = "log lines are missing here: nobody read the log for too long";
  return `${JSON.stringify({ level: pino.levels.values["warn"], time: systemClock.now().toISOString(), count, msg })}\n`;
}
