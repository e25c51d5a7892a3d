// A fault in a copy or in the copied data, identified so that it can be repaired.

export interface Fault {
  /** A path in the copy, the key of an artifact, or `database`. */
  readonly what: string;
  /** Description of the fault as a sentence. */
  readonly message: string;
}
