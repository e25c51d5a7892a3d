// Finding of an examination: the state of one subject, and the remedy if it is not `ok`.

export interface Finding {
  /** Subject in a word or two, such as `disk`. */
  readonly check: string;
  /** `ok`: no problem; `warning`: a server works, but with limits, or not for long; `fault`: a server does not work. */
  readonly state: "ok" | "warning" | "fault";
  /** Description of the state, with numbers. */
  readonly message: string;
  /** Remedy for the operator; null for `ok`. */
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

/** Returns an error's message for a finding. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
