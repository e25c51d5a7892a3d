// Attributes of a rule, as in guidance's grammars: `name[lazy]: ...`. Attributes for captures are ignored, and
// attributes for token sampling are refused. Attributes for the end of a terminal restrict the terminal's texts.
import { allCharacters } from "../../../regex/characters/code-points.ts";
import { literalNode, literalText } from "../grammar-text.ts";
import type { GrammarNode } from "../grammar-text.ts";
import { readName, skipBlanks } from "./names.ts";
import { readTerminal } from "./read-expression.ts";
import type { Source } from "./read-expression.ts";

export interface Attributes {
  /** True if the rule matches as little text as possible. */
  readonly isLazy: boolean;
  /** Pattern that ends the rule's text at its first match, and belongs to the text; null if there is no suffix. */
  readonly suffix: GrammarNode | null;
  /** Text that ends the rule's text but does not belong to it; null if there is no stop. */
  readonly stop: string | null;
}

const none: Attributes = { isLazy: false, suffix: null, stop: null };

/**
 * Parses `[name, name=value, ...]`. Returns null if there is no such list, or if no attribute in it affects the rule's
 * texts.
 */
export function readAttributes(source: Source): Attributes | null {
  const { reader } = source;
  if (!reader.skip("[")) return null;
  let attributes = none;
  do {
    skipBlanks(reader);
    attributes = { ...attributes, ...readAttribute(source) };
    skipBlanks(reader);
  } while (reader.skip(","));
  if (!reader.skip("]")) throw reader.malformed("an unclosed list of attributes");
  const { isLazy, suffix, stop } = attributes;
  if (suffix !== null && stop !== null) throw reader.malformed("a rule with both suffix and stop");
  return isLazy || suffix !== null || stop !== null ? attributes : null;
}

function readAttribute(source: Source): Partial<Attributes> {
  const { reader } = source;
  const { position } = reader;
  const name = readName(reader) ?? "";
  switch (name) {
    case "capture":
    case "stop_capture":
      if (reader.match(equals) !== null) readText(source, position);
      return {};
    case "lazy":
      return { isLazy: true };
    case "suffix":
      return { suffix: readValue(source, position) };
    case "stop": {
      const stop = readText(source, position);
      // With an empty stop, the rule's text ends only at the end of the answer.
      return stop === "" ? {} : { stop };
    }
    default:
      throw reader.notExact(`the attribute ${name}`, position, cures[name]);
  }
}

const cures: Readonly<Record<string, string>> = {
  max_tokens:
    "A repetition with bounds, such as /(.|\\n){0,200}/, limits characters; the request's max_tokens limits tokens",
  temperature: "The request's temperature applies to the whole answer",
};

const equals = /\s*=\s*/y;

function readValue(source: Source, position: number): GrammarNode {
  if (source.reader.match(equals) === null)
    throw source.reader.malformed("an attribute without a value", position);
  return readTerminal(source);
}

/** Reads an attribute's value, which must be one text. The `=` before it may already have been read. */
function readText(source: Source, position: number): string {
  source.reader.match(equals);
  const text = literalText(readTerminal(source));
  if (text === null)
    throw source.reader.notExact("a stop that is not one text", position, "suffix takes patterns");
  return text;
}

/** Restricts a terminal to the texts whose end satisfies the attributes. */
export function restrictEnd(terminal: GrammarNode, { isLazy, suffix, stop }: Attributes): GrammarNode {
  if (stop !== null) return beforeStop(terminal, stop);
  if (suffix !== null) return shortest({ kind: "sequence", parts: [terminal, suffix] });
  return isLazy ? shortest(terminal) : terminal;
}

const anyText = (min: number): GrammarNode => ({
  kind: "repeat",
  part: { kind: "character", set: allCharacters },
  min,
  max: Number.POSITIVE_INFINITY,
});

/**
 * Returns a node for the shortest matches: the texts that match the given node and have no shorter prefix that matches
 * it.
 */
function shortest(node: GrammarNode): GrammarNode {
  return without(node, { kind: "sequence", parts: [node, anyText(1)] });
}

/**
 * Returns a node for the texts that may precede the stop. With the stop appended, such a text contains the stop only at
 * its end.
 */
function beforeStop(node: GrammarNode, stop: string): GrammarNode {
  const characters = Array.from(stop);
  // Prefixes of the stop with which a text must not end, because the appended stop would complete an earlier
  // occurrence. With the stop "aba", for example, the text "ab" gives "ababa".
  const halves = characters.slice(1).flatMap((_, index) => {
    const half = characters.slice(0, index + 1).join("");
    return (half + stop).startsWith(stop) ? [literalNode(half)] : [];
  });
  const holding: GrammarNode = { kind: "sequence", parts: [node, literalNode(stop), anyText(0)] };
  const completing: GrammarNode = { kind: "sequence", parts: [node, { kind: "choice", parts: halves }] };
  return without(node, ...(halves.length === 0 ? [holding] : [holding, completing]));
}

function without(node: GrammarNode, ...others: readonly GrammarNode[]): GrammarNode {
  return { kind: "all", parts: [node, ...others.map((part): GrammarNode => ({ kind: "other", part }))] };
}
