// How much one query may ask, and how long it may take.

export interface QueryLimits {
  /** How deep its operations are nested. */
  readonly depthMax: number;
  /** Operations and operands together. */
  readonly operandsMax: number;
  /** Of all literals together, as JSON. */
  readonly literalBytesMax: number;
  /** Waiting for its turn included. */
  readonly timeMs: number;
}
