// Parses the bodies of Lark's rules and terminals. In a rule, ignored text may follow each terminal; within a
// terminal, ignored text is not allowed.
import { limitExceeded } from "../../../regex/limits.ts";
import type { PatternEffort } from "../../../regex/parse-pattern.ts";
import type { Reader } from "../../../regex/reader.ts";
import type { GrammarNode } from "../grammar-text.ts";
import { type Bounds, readBounds, repeated } from "../repetition.ts";
import { isTerminalName, readName, skipBlanks, skipBlanksOfLine, startsStatement } from "./names.ts";
import { readJson, readRegularExpression, readStringOrRange } from "./read-literal.ts";
import { type ExactJson, isExactObject } from "../../../../../base/domain/text/exact-json.ts";

export interface Source extends PatternEffort {
  readonly reader: Reader;
  /** Name of the rule for the ignored text that may follow a terminal. */
  readonly ignoredRule: string;
  /** True within the body of a terminal, false within that of a rule. */
  readonly isTerminal: boolean;
}

/** Reads the body of a terminal. */
export const readTerminal = (source: Source): GrammarNode => readChoice({ ...source, isTerminal: true });

/** Reads all alternatives at the reader's position. */
export function readChoice(source: Source, depth = 0): GrammarNode {
  const { reader, limits } = source;
  if (depth > limits.nesting) throw limitExceeded("nesting", limits.nesting);
  const options = [readAlternative(source, depth)];
  while (reader.skip("|")) options.push(readAlternative(source, depth));
  return options.length === 1 ? options[0] : { kind: "choice", parts: options };
}

/** Returns the node followed by ignored text; within a terminal, the node unchanged. */
export function lexeme({ ignoredRule, isTerminal }: Source, node: GrammarNode): GrammarNode {
  if (isTerminal) return node;
  return { kind: "sequence", parts: [node, { kind: "rule", name: ignoredRule, position: 0 }] };
}

/**
 * Reads sequences separated by `&`, all of which must match. Skips an alias, because it only names a node of Lark's
 * syntax tree.
 */
function readAlternative(source: Source, depth: number): GrammarNode {
  const { reader } = source;
  const parts = [readSequence(source, depth)];
  for (let start = reader.position; reader.skip("&"); start = reader.position) {
    if (!source.isTerminal) throw reader.notExact("an & outside a terminal", start);
    parts.push(readSequence(source, depth));
  }
  if (reader.match(/->\s*[\w-]+/y) !== null) skipBlanks(reader);
  return parts.length === 1 ? parts[0] : { kind: "all", parts };
}

function readSequence(source: Source, depth: number): GrammarNode {
  const { reader } = source;
  const parts: GrammarNode[] = [];
  for (;;) {
    skipBlanks(reader);
    if (reader.isAtEnd || endsSequence(reader)) break;
    parts.push(readRepeated(source, readTerm(source, depth)));
  }
  return parts.length === 1 ? parts[0] : { kind: "sequence", parts };
}

const endsSequence = (reader: Reader): boolean =>
  ["|", ")", "]", "&", "->", ","].some((sign) => reader.sees(sign)) || startsStatement(reader);

function readTerm(source: Source, depth: number): GrammarNode {
  const { reader, isTerminal } = source;
  const { position } = reader;
  if (reader.skip("(")) return readGroup(source, depth, ")");
  if (reader.skip("[")) return { kind: "repeat", part: readGroup(source, depth, "]"), min: 0, max: 1 };
  if (reader.skip("~")) {
    if (!isTerminal) throw reader.notExact("a ~ outside a terminal", position);
    skipBlanksOfLine(reader);
    return { kind: "other", part: readTerm(source, depth) };
  }
  if (reader.skip("%json")) {
    if (isTerminal) throw reader.notExact("a schema in a terminal", position);
    skipBlanks(reader);
    return lexeme(source, { kind: "schema", schema: readJson(reader, position), position });
  }
  if (reader.skip("%regex")) {
    skipBlanks(reader);
    return lexeme(source, readSubstring(reader, position));
  }
  const literal = readStringOrRange(reader, source) ?? readRegularExpression(reader, source);
  if (literal !== null) return lexeme(source, literal);
  return readReference(source);
}

function readGroup(source: Source, depth: number, closing: ")" | "]"): GrammarNode {
  const { reader } = source;
  const start = reader.position - 1;
  const group = readChoice(source, depth + 1);
  if (!reader.skip(closing)) throw reader.malformed("an unclosed group", start);
  return group;
}

function readReference(source: Source): GrammarNode {
  const { reader, isTerminal } = source;
  const { position } = reader;
  const name = readName(reader);
  if (name === null) throw unknownTerm(reader);
  if (reader.match(/\{(?![\d,\s])/y) !== null || reader.sees("::"))
    throw reader.notExact("a rule with parameters", position, "Write a rule for each of their values");
  const reference: GrammarNode = { kind: "rule", name, position };
  if (isTerminalName(name)) return lexeme(source, reference);
  if (isTerminal) throw reader.malformed(`the rule ${name} in a terminal`, position);
  return reference;
}

function unknownTerm(reader: Reader): Error {
  if (reader.sees("<"))
    return reader.notExact(
      "a token by name",
      reader.position,
      "Constraints apply to text: write the token's text as a string, if it has text in answers",
    );
  if (reader.sees("@")) return reader.notExact("another grammar");
  const directive = reader.match(/%\w+/y)?.[0];
  if (directive !== undefined) return reader.notExact(directive, reader.position - directive.length);
  return reader.malformed(`an unexpected ${reader.peek()}`);
}

function readRepeated(source: Source, part: GrammarNode): GrammarNode {
  const { reader } = source;
  skipBlanksOfLine(reader);
  const start = reader.position;
  const bounds = readTimes(reader) ?? readBounds(reader);
  return bounds === null ? part : readRepeated(source, repeated(reader, part, bounds, start));
}

/** Reads `~n` or `~n..m`. */
function readTimes(reader: Reader): Bounds | null {
  const times = reader.match(/~[ \t]*(\d+)(?:[ \t]*\.\.[ \t]*(\d+))?/y);
  if (times === null) return null;
  const [, least, most = least] = times;
  return [Number(least), Number(most)];
}

/** Matches a word of a text: a maximal run of letters, digits and underscores, or of blanks, or of other characters. */
const words = /[\p{Alphabetic}\p{N}_]+|\p{White_Space}+|[^\p{Alphabetic}\p{N}_\p{White_Space}]+/gu;

/**
 * Reads `%regex {"substring_words": "a text"}`: any run of a text's words, of its characters, or of given chunks.
 *
 * @param position position of `%regex`, which has already been read
 */
function readSubstring(reader: Reader, position: number): GrammarNode {
  const value = readJson(reader, position);
  const chunks = isExactObject(value) ? chunksOf(value) : null;
  if (chunks !== null) return { kind: "substring", chunks };
  throw reader.notExact(
    "a %regex of another kind",
    position,
    'Served are {"substring_words": "a text"}, substring_chars, and substring_chunks with a list of texts',
  );
}

function chunksOf(value: Readonly<Record<string, ExactJson>>): readonly string[] | null {
  const [[name, content] = [], ...rest] = Object.entries(value);
  if (value["type"] === "substring" && rest.length === 1) return textsOf(value["chunks"]);
  if (rest.length > 0) return null;
  if (name === "substring_chunks") return textsOf(content);
  if (typeof content !== "string") return null;
  if (name === "substring_chars") return Array.from(content);
  return name === "substring_words" ? (content.match(words) ?? []) : null;
}

function textsOf(value: ExactJson | undefined): readonly string[] | null {
  if (!Array.isArray(value)) return null;
  const texts = value.filter((one): one is string => typeof one === "string");
  return texts.length === value.length ? texts : null;
}
