// Limits of one feedback query.

export interface QueryLimits {
  /** Maximum nesting of operations. */
  readonly depthMax: number;
  /** Maximum number of operations and operands in total. */
  readonly operandsMax: number;
  /** Maximum total size of all literals, as JSON. */
  readonly literalBytesMax: number;
  /** Time limit in milliseconds, including the wait for the query's turn. */
  readonly timeMs: number;
}
