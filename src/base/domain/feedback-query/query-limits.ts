// Limits that apply to each feedback query.

export interface QueryLimits {
  /** Maximum depth to which operations are nested. */
  readonly depthMax: number;
  /** Maximum number of operations and operands together. */
  readonly operandsMax: number;
  /** Maximum total size in bytes of all literals, as JSON. */
  readonly literalBytesMax: number;
  /** Time limit in milliseconds, which includes the wait for the query's turn. */
  readonly timeMs: number;
}
