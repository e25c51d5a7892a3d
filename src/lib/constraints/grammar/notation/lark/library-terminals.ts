// Terminals of Lark's library `common` that a grammar can import, as regular expressions. Letters are ASCII, as in
// newer versions of the library.
import { parsePattern, type PatternEffort } from "../../../regex/parse-pattern.ts";
import type { GrammarNode } from "../grammar-text.ts";

const integer = "[0-9]+";
const decimal = "(?:[0-9]+\\.[0-9]*|\\.[0-9]+)";
const exponent = "[eE][+-]?[0-9]+";
const float = `(?:[0-9]+${exponent}|${decimal}(?:${exponent})?)`;
const number = `(?:${float}|${integer})`;

const patterns: Readonly<Record<string, string>> = {
  DIGIT: "[0-9]",
  HEXDIGIT: "[0-9A-Fa-f]",
  INT: integer,
  SIGNED_INT: `[+-]?${integer}`,
  DECIMAL: decimal,
  FLOAT: float,
  SIGNED_FLOAT: `[+-]?${float}`,
  NUMBER: number,
  SIGNED_NUMBER: `[+-]?${number}`,
  ESCAPED_STRING: '"(?:[^"\\\\\\n]|\\\\[^\\n])*"',
  LCASE_LETTER: "[a-z]",
  UCASE_LETTER: "[A-Z]",
  LETTER: "[A-Za-z]",
  WORD: "[A-Za-z]+",
  CNAME: "[A-Za-z_][A-Za-z0-9_]*",
  WS_INLINE: "[ \\t]+",
  WS: "[ \\t\\f\\r\\n]+",
  CR: "\\r",
  LF: "\\n",
  NEWLINE: "(?:\\r?\\n)+",
  SH_COMMENT: "#[^\\n]*",
  CPP_COMMENT: "\\/\\/[^\\n]*",
  C_COMMENT: "\\/\\*(?:[^*]|\\*+[^*\\/])*\\*+\\/",
  SQL_COMMENT: "--[^\\n]*",
};

/** Returns the terminal with this name; null if the library has none. */
export function libraryTerminal(name: string, effort: PatternEffort): GrammarNode | null {
  if (!Object.hasOwn(patterns, name)) return null;
  return { kind: "pattern", pattern: parsePattern(patterns[name], effort) };
}
