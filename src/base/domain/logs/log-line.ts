// A line of a server's log, in the form in which clients read it.

/** Log levels, from least to most important. */
export const lineLevels = ["debug", "info", "warn", "error"] as const;
export type LineLevel = (typeof lineLevels)[number];

export interface LogLine {
  /**
   * Id in the form `<start>-<number>`. `<start>` differs for each start of a server, and the number increases by one
   * with each line.
   */
  readonly id: string;
  readonly time: string;
  readonly level: LineLevel;
  readonly message: string;
  /** Fields of the line besides those above. */
  readonly fields: Readonly<Record<string, unknown>>;
}
