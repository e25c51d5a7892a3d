// Checks whether a text belongs to a language, byte by byte and without tokens.
import { type Language, grantStepsFor } from "../language.ts";
import { deadParser } from "../parser/machine.ts";

/**
 * True if the whole text belongs to the language.
 *
 * @throws ConstraintRefusal if a limit on states or steps is exceeded
 */
export function accepts({ machine, budget, start }: Language, text: string): boolean {
  const bytes = new TextEncoder().encode(text);
  grantStepsFor(budget, bytes.length);
  let state = start;
  for (const byte of bytes) {
    state = machine.next(state, byte);
    if (state === deadParser) return false;
  }
  return machine.threads(state).mayEnd;
}
