// Structured logs on standard error, one JSON object a line. Never logs secrets or bodies.
import { pino } from "pino";

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/** What the rest of the server knows of logging. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A logger whose every line carries these fields too. */
  child(fields: object): Logger;
}

/** Writes to standard error, so that standard output stays for what a command answers. */
export function createLogger(level: LogLevel): Logger {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
}

/** For tests and tools that want no lines. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLogger,
};
