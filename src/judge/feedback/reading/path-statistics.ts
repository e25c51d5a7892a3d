// Statistics of the values at one payload path: counts by kind of value, a summary of the numbers, and counts of the
// distinct values if there are few.
import type { Json } from "../../../base/domain/text/json.ts";
import { NumberCollector, type NumberRoom, type NumberSummary } from "./number-summary.ts";

export const valueKinds = ["number", "text", "boolean", "null", "list"] as const;
export type ValueKind = (typeof valueKinds)[number];

export interface PathStatistics {
  /** Payload path as written in queries, without `payload.`. */
  readonly path: string;
  /** Number of records that have a value at the path. */
  readonly count: number;
  readonly kinds: Readonly<Partial<Record<ValueKind, number>>>;
  readonly numbers: NumberSummary | null;
  /** Distinct values, most frequent first; null if there are too many or they are too long. */
  readonly values: readonly ValueCount[] | null;
}

export interface ValueCount {
  readonly value: string | number | boolean;
  readonly count: number;
}

/**
 * Maximum number of distinct values that are counted at one path, and maximum length in characters of a text among
 * them.
 */
const valuesMax = 50;
const textLengthMax = 200;

export class PathCollector {
  readonly #path: string;
  readonly #numbers: NumberCollector;
  readonly #kinds: Partial<Record<ValueKind, number>> = {};
  /** Number of occurrences of each distinct value; null once there are too many distinct values. */
  #values: Map<string | number | boolean, number> | null = new Map();
  #count = 0;

  constructor(path: string, room: NumberRoom) {
    this.#path = path;
    this.#numbers = new NumberCollector(room);
  }

  add(value: Json): void {
    this.#count += 1;
    const kind = kindOf(value);
    this.#kinds[kind] = (this.#kinds[kind] ?? 0) + 1;
    if (typeof value === "number") this.#numbers.add(value);
    if (typeof value === "number" || typeof value === "string" || typeof value === "boolean")
      this.#countValue(value);
  }

  result(): PathStatistics {
    const counted = [...(this.#values ?? [])].map(([value, count]) => ({ value, count }));
    return {
      path: this.#path,
      count: this.#count,
      kinds: this.#kinds,
      numbers: this.#numbers.summary(),
      values: this.#values === null ? null : counted.sort((one, other) => other.count - one.count),
    };
  }

  #countValue(value: string | number | boolean): void {
    if (this.#values === null) return;
    const isLong = typeof value === "string" && value.length > textLengthMax;
    this.#values.set(value, (this.#values.get(value) ?? 0) + 1);
    if (isLong || this.#values.size > valuesMax) this.#values = null;
  }
}

function kindOf(value: Json): ValueKind {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  const type = typeof value;
  return type === "number" || type === "boolean" ? type : "text";
}
