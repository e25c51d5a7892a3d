// Something that is wrong with a copy, or with what was copied: named, so that it can be mended.

export interface Fault {
  /** A path in the copy, the key of an artifact, or `database`. */
  readonly what: string;
  /** A sentence. */
  readonly message: string;
}
