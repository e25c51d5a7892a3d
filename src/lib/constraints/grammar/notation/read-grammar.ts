// Parses a grammar in GBNF or Lark. The first definition determines the notation: `name ::=` is GBNF, `name:` is Lark.
import type { PatternEffort } from "../../regex/parse-pattern.ts";
import { readGbnf } from "./gbnf/read-gbnf.ts";
import type { GrammarText } from "./grammar-text.ts";
import { readLark } from "./lark/read-lark.ts";
import { startsLikeLark } from "./lark/names.ts";

/**
 * Parses a grammar.
 *
 * @throws ConstraintRefusal for syntax that is malformed or not supported, with its position
 */
export function readGrammar(text: string, effort: PatternEffort): GrammarText {
  return startsLikeLark(text) ? readLark(text, effort) : readGbnf(text, effort.limits);
}
