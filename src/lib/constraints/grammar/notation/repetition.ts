// Repetition of a part of a grammar, in the forms that both notations share.
import type { Reader } from "../../regex/reader.ts";
import type { GrammarNode } from "./grammar-text.ts";

/** Limit on repetition counts, as in regular expressions. */
const repetitionsMax = 10_000;

export type Bounds = readonly [min: number, max: number];

/** Reads `*`, `+`, `?`, `{n}`, `{n,}`, `{,m}` or `{n,m}`; null if there is none. */
export function readBounds(reader: Reader): Bounds | null {
  if (reader.skip("*")) return [0, Number.POSITIVE_INFINITY];
  if (reader.skip("+")) return [1, Number.POSITIVE_INFINITY];
  if (reader.skip("?")) return [0, 1];
  const braces = reader.match(/\{\s*(?=[\d,])(\d*)\s*(?:(,)\s*(\d*)\s*)?\}/y);
  if (braces === null) return null;
  const [, least, comma, most = ""] = braces;
  const min = Number(least);
  if (comma === undefined) return [min, min];
  return [min, most === "" ? Number.POSITIVE_INFINITY : Number(most)];
}

/** @param start position of the bounds */
export function repeated(reader: Reader, part: GrammarNode, [min, max]: Bounds, start: number): GrammarNode {
  if (min > max) throw reader.malformed("a repetition whose bounds are out of order", start);
  if (Math.max(min, Number.isFinite(max) ? max : 0) > repetitionsMax)
    throw reader.notExact(`a repetition of more than ${repetitionsMax} times`, start);
  return { kind: "repeat", part, min, max };
}
