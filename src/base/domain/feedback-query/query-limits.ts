// Limits of one feedback query.

export interface QueryLimits {
  /** Maximum nesting of operations. */
  readonly depthMax: number;
  /** Maximum number of operations and operands together. */
  readonly operandsMax: number;
  /** Maximum size of all literals together, as JSON. */
  readonly literalBytesMax: number;
  /** Deadline, including the wait for a turn. */
  readonly timeMs: number;
}
