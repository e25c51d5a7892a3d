// How the next token is drawn. Values are validated where they enter; the engine trusts them.

export interface SamplingParameters {
  /** 0 is greedy; otherwise at least 0.01. */
  readonly temperature: number;
  /** (0, 1]; 1 is off. */
  readonly topP: number;
  /** 0 is off; otherwise at least 1. */
  readonly topK: number;
  /** Makes the answer reproducible whatever else runs; choice i draws from a stream derived from (seed, i). */
  readonly seed: number;
}
