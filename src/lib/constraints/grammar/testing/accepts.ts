// For tests: whether a text is one of a language, byte by byte and without tokens.
import { type Language, restartFor } from "../language.ts";
import { deadParser } from "../parser/machine.ts";

/**
 * Whether the language holds the text as a whole.
 *
 * @throws ConstraintRefusal where that takes more states or steps than it may
 */
export function accepts({ machine, budget, start }: Language, text: string): boolean {
  const bytes = new TextEncoder().encode(text);
  restartFor(budget, bytes.length);
  let state = start;
  for (const byte of bytes) {
    state = machine.next(state, byte);
    if (state === deadParser) return false;
  }
  return machine.threads(state).mayEnd;
}
