// A line of a server's log, as its readers see it.

/** Log levels, from least to most important. */
export const lineLevels = ["debug", "info", "warn", "error"] as const;
export type LineLevel = (typeof lineLevels)[number];

export interface LogLine {
  /**
   * Id in the form `<start>-<number>`. The number increases by one with each line, and each start of a server has its
   * own prefix.
   */
  readonly id: string;
  readonly time: string;
  readonly level: LineLevel;
  readonly message: string;
  /** Other fields of the line. */
  readonly fields: Readonly<Record<string, unknown>>;
}
