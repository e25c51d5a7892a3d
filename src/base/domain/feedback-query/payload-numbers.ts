// Finds the numbers in a payload by their paths, for an index of numbers. If a payload has too many numbers, too long
// paths or too deep nesting, it returns only some of the numbers and marks the record.
import type { Json, JsonObject } from "../text/json.ts";
import type { PathStep } from "./feedback-field.ts";
import { numberOfText, numberTextLengthMax, searchableText } from "./values.ts";

/** Maximum number of numbers per record that are indexed. */
const numbersMax = 32;
const depthMax = 8;
/** Maximum number of payload values that are searched for numbers. */
const valuesMax = 500;
const pathLengthMax = 200;
export interface PlacedNumber {
  /** Path of the number, as a JSON list of steps. */
  readonly path: string;
  readonly number: number;
}

export interface PayloadNumbers {
  readonly numbers: readonly PlacedNumber[];
  /** True if the payload contains numbers that are not in the list. */
  readonly hasMore: boolean;
}

interface Found {
  readonly numbers: PlacedNumber[];
  valueCount: number;
  hasMore: boolean;
}

/**
 * Numbers found in payloads that are being written, keyed by the payload. Each write needs them twice, so the cache
 * avoids a second search.
 */
const foundIn = new WeakMap<object, PayloadNumbers>();

export function numbersIn(payload: JsonObject): PayloadNumbers {
  const known = foundIn.get(payload);
  if (known !== undefined) return known;
  const found: Found = { numbers: [], valueCount: 0, hasMore: false };
  findNumbers(payload, { steps: "", depth: 0 }, found);
  foundIn.set(payload, found);
  return found;
}

/** Steps of a path as JSON, without the brackets around them. */
interface Place {
  readonly steps: string;
  readonly depth: number;
}

function findNumbers(value: Json, place: Place, found: Found): void {
  if (found.hasMore) return;
  found.valueCount += 1;
  const number = numberOf(value);
  const isFull =
    number !== null && (found.numbers.length === numbersMax || place.steps.length > pathLengthMax);
  const isNested = value !== null && typeof value === "object";
  if (found.valueCount > valuesMax || isFull || (isNested && place.depth > depthMax)) {
    found.hasMore = true;
  } else if (number !== null) {
    found.numbers.push({ path: `[${place.steps}]`, number });
  } else if (isNested) {
    if (Array.isArray(value))
      for (const [index, item] of value.entries()) findNumbers(item as Json, inside(place, index), found);
    else
      for (const [name, member] of Object.entries(value))
        findNumbers(member, inside(place, searchableText(name)), found);
  }
}

function inside({ steps, depth }: Place, step: PathStep): Place {
  const text = JSON.stringify(step);
  return { steps: steps === "" ? text : `${steps},${text}`, depth: depth + 1 };
}

function numberOf(value: Json): number | null {
  // Adding 0 turns -0 into 0, because some databases distinguish the two.
  if (typeof value === "number") return value + 0;
  return typeof value === "string" && value.length <= numberTextLengthMax ? numberOfText(value) : null;
}
