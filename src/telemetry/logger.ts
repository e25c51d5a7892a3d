// The log on standard error: a JSON object a line, or lines for people. Never logs secrets or bodies.
import { pino } from "pino";
import { peopleLine } from "./people-lines.ts";

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

/** Writes to standard error, so that standard output stays for what a command answers. */
export function createLogger({ level, format }: LogStyle): Logger {
  const standardError = pino.destination({ dest: 2, sync: true });
  const isColoured = process.stderr.isTTY && process.stderr.hasColors();
  const forPeople = { write: (json: string) => standardError.write(peopleLine(json, { isColoured })) };
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    format === "json" ? standardError : forPeople,
  );
}
