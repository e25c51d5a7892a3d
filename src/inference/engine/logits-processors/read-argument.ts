// Checks the arguments of the built-in logits processors. Error messages are for the API's clients.
import type { Json } from "../../../base/domain/text/json.ts";

/**
 * Returns an argument as a whole number.
 *
 * @throws Error if the value is not a whole number of at least `minimum`
 */
export function numberOf(name: string, value: Json | undefined, minimum: number): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= minimum) return value;
  const given = value === undefined ? "is missing" : `is ${JSON.stringify(value)}`;
  throw new Error(`${name} ${given}; it must be a whole number of at least ${minimum}`);
}

/**
 * Returns an argument as a list of token ids.
 *
 * @throws Error if the value is not a list of ids in the vocabulary
 */
export function tokenIdsOf(name: string, value: Json, vocabularySize: number): readonly number[] {
  const isId = (id: unknown): id is number =>
    typeof id === "number" && Number.isInteger(id) && id >= 0 && id < vocabularySize;
  if (Array.isArray(value) && value.every(isId)) return value;
  throw new Error(`${name} must be a list of token ids from 0 to ${vocabularySize - 1}`);
}
