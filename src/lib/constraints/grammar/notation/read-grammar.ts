// Reads a grammar in whichever notation it is written: a definition begins with `name ::=` in GBNF and with `name:` in
// Lark. The first one decides.
import type { PatternEffort } from "../../regex/parse-pattern.ts";
import { readGbnf } from "./gbnf/read-gbnf.ts";
import type { GrammarText } from "./grammar-text.ts";
import { readLark } from "./lark/read-lark.ts";
import { startsLikeLark } from "./lark/names.ts";

/** @throws ConstraintRefusal for what its notation does not know, with its position */
export function readGrammar(text: string, effort: PatternEffort): GrammarText {
  return startsLikeLark(text) ? readLark(text, effort) : readGbnf(text, effort.limits);
}
