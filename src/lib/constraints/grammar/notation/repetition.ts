// Repetition of a grammar node, in the forms that GBNF and Lark's notation share.
import type { Reader } from "../../regex/reader.ts";
import type { GrammarNode } from "./grammar-text.ts";

/** Maximum repetition count, as in regular expressions. */
const repetitionsMax = 10_000;

export type Bounds = readonly [min: number, max: number];

/** Reads `*`, `+`, `?`, `{n}`, `{n,}`, `{,m}` or `{n,m}`; returns null if there is no repetition. */
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

/**
 * Returns a node that repeats the part.
 *
 * @param start position of the bounds, for refusals
 */
export function repeated(reader: Reader, part: GrammarNode, [min, max]: Bounds, start: number): GrammarNode {
  if (min > max) throw reader.malformed("a repetition whose bounds are out of order", start);
  if (Math.max(min, Number.isFinite(max) ? max : 0) > repetitionsMax)
    throw reader.notExact(`a repetition of more than ${repetitionsMax} times`, start);
  return { kind: "repeat", part, min, max };
}
