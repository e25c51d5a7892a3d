// A rule's attributes in guidance's grammars: `name[lazy]: ...`. Attributes that name captures are ignored, and those
// of token sampling are refused. Attributes about the end of a terminal become a restriction on its texts.
import { allCharacters } from "../../../regex/characters/code-points.ts";
import { literalNode, literalText } from "../grammar-text.ts";
import type { GrammarNode } from "../grammar-text.ts";
import { readName, skipBlanks } from "./names.ts";
import { readTerminal } from "./read-expression.ts";
import type { Source } from "./read-expression.ts";

export interface Attributes {
  /** True to match as little as possible. */
  readonly isLazy: boolean;
  /** Text after the rule's text, at the first possible position. */
  readonly suffix: GrammarNode | null;
  /** Text that ends the rule's text without belonging to it. */
  readonly stop: string | null;
}

const none: Attributes = { isLazy: false, suffix: null, stop: null };

/** Reads `[name, name=value, ...]`; null if there are none, or none that affects the texts of a rule. */
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
      // An empty stop means that only the end of the answer stops it.
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

/** Reads a value that is one text, after its `=` if that is still unread. */
function readText(source: Source, position: number): string {
  source.reader.match(equals);
  const text = literalText(readTerminal(source));
  if (text === null)
    throw source.reader.notExact("a stop that is not one text", position, "suffix takes patterns");
  return text;
}

/** Restricts a terminal to the texts that end as its attributes say. */
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

/** Returns the texts of which no proper prefix matches. */
function shortest(node: GrammarNode): GrammarNode {
  return without(node, { kind: "sequence", parts: [node, anyText(1)] });
}

/** Returns the texts that, followed by the stop, contain it only at the end. */
function beforeStop(node: GrammarNode, stop: string): GrammarNode {
  const characters = Array.from(stop);
  // After these texts, a beginning of the stop would complete an earlier one: "a" before "ab" of the stop "aab".
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
