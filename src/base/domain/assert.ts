// Assertions against programmer errors: conditions that must hold for any input.

/** Throws if `condition` is false; the message says what must hold. */
export function assert(condition: boolean, whatMustHold: string): asserts condition {
  if (!condition) throw new Error(`must hold: ${whatMustHold}`);
}

/** Ends an exhaustive `switch`: a compile error if reachable, and a bug at run time. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}

/** Returns the value; throws if it is null or undefined, which is a bug. */
export function present<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`must be present: ${what}`);
  return value;
}
