// Programmer errors: a condition that must hold whatever a caller sends.

/** Throws when `condition` is false; the message says what must hold. */
export function assert(condition: boolean, whatMustHold: string): asserts condition {
  if (!condition) throw new Error(`must hold: ${whatMustHold}`);
}

/** Ends an exhaustive `switch`; reaching it is a compile error, and a bug at run time. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}

/** The value, when it is neither null nor undefined; a bug otherwise. */
export function present<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`must be present: ${what}`);
  return value;
}
