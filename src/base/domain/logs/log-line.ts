// A line of a server's log, as its readers see it.

/** From least to most important. */
export const lineLevels = ["debug", "info", "warn", "error"] as const;
export type LineLevel = (typeof lineLevels)[number];

export interface LogLine {
  /** `<start>-<number>`: numbers rise by one, and each start of a server has its own prefix. */
  readonly id: string;
  readonly time: string;
  readonly level: LineLevel;
  readonly message: string;
  /** Other fields of the line. */
  readonly fields: Readonly<Record<string, unknown>>;
}
