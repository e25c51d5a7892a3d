// What an examination finds: of one thing, how it is, and what to do where it is not well.

export interface Finding {
  /** Of what, in a word or two, such as `disk`. */
  readonly check: string;
  /** A server works with what is `ok`, works less well or not for long with a `warning`, and does not with a `fault`. */
  readonly state: "ok" | "warning" | "fault";
  /** What is the case, with its numbers. */
  readonly message: string;
  /** What to do about it; null where all is well. */
  readonly cure: string | null;
}

export function ok(check: string, message: string): Finding {
  return { check, state: "ok", message, cure: null };
}

export function warning(check: string, message: string, cure: string): Finding {
  return { check, state: "warning", message, cure };
}

export function fault(check: string, message: string, cure: string): Finding {
  return { check, state: "fault", message, cure };
}

/** What an error says, for a finding. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
