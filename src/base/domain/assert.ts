// Assertions against programmer errors: conditions that must hold for any input.

/**
 * Throws if `condition` is false.
 *
 * @param whatMustHold condition in words, for the error message
 */
export function assert(condition: boolean, whatMustHold: string): asserts condition {
  if (!condition) throw new Error(`must hold: ${whatMustHold}`);
}

/**
 * Ends an exhaustive `switch`. The compiler refuses a call that can be reached; at run time, a call throws, because it
 * is a bug.
 */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}

/**
 * Returns the value. Throws if it is null or undefined, which is a bug.
 *
 * @param what name of the value for the message
 */
export function present<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`must be present: ${what}`);
  return value;
}
