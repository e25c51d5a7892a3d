// A fault found by copying or verifying. It names the file or artifact that must be repaired.

export interface Fault {
  /** Location of the fault: a path in the archive, the key of an artifact, or `database`. */
  readonly what: string;
  /** Description of the fault as a sentence. */
  readonly message: string;
}
