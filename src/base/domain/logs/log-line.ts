// A line of a server's log as its readers see it.

/** From the least important on. */
export const lineLevels = ["debug", "info", "warn", "error"] as const;
export type LineLevel = (typeof lineLevels)[number];

export interface LogLine {
  /** `<start>-<number>`: numbers rise by one, and each start of a server has its own beginning. */
  readonly id: string;
  readonly time: string;
  readonly level: LineLevel;
  readonly message: string;
  /** Everything else that the line says. */
  readonly fields: Readonly<Record<string, unknown>>;
}
