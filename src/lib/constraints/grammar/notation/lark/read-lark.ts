// Parses Lark's notation with the extensions of constraint engines. A text belongs to the language if it can be split
// into matching terminals in any way, as with Lark's lexer "dynamic_complete". Syntax that builds trees (aliases,
// `?rule`, `!rule`) or selects a parse (priorities) has no effect.
import { limitExceeded } from "../../../regex/limits.ts";
import type { PatternEffort } from "../../../regex/parse-pattern.ts";
import { Reader } from "../../../regex/reader.ts";
import { hasNode } from "../grammar-text.ts";
import type { GrammarNode, GrammarText } from "../grammar-text.ts";
import { restrictEnd, readAttributes } from "./attributes.ts";
import { lexeme, readChoice, readTerminal } from "./read-expression.ts";
import type { Source } from "./read-expression.ts";
import { libraryTerminal } from "./library-terminals.ts";
import { isTerminalName, readName, skipBlanks, skipBlanksOfLine } from "./names.ts";
import { readJson } from "./read-literal.ts";

/** Name of the rule for ignored text after a terminal; no grammar can define a rule with this name. */
const ignoredRule = "%ignore";
const wholeText = "the whole text";

/**
 * Parses a grammar in Lark.
 *
 * @throws ConstraintRefusal for malformed or unsupported Lark, with its position
 */
export function readLark(text: string, effort: PatternEffort): GrammarText {
  return new LarkReader(text, effort).read();
}

class LarkReader {
  readonly #reader: Reader;
  readonly #source: Source;
  readonly #rules = new Map<string, GrammarNode>();
  readonly #ignored: GrammarNode[] = [];
  readonly #checked = new Set<string>();
  readonly #checking = new Set<string>();
  #ignoresAtStart = false;

  constructor(text: string, effort: PatternEffort) {
    this.#reader = new Reader(text, "", "grammar");
    this.#source = { reader: this.#reader, ...effort, ignoredRule, isTerminal: false };
  }

  read(): GrammarText {
    const reader = this.#reader;
    let first: string | null = null;
    for (skipBlanks(reader); !reader.isAtEnd; skipBlanks(reader)) {
      if (reader.skip("%")) {
        this.#readDirective(reader.position - 1);
        continue;
      }
      const name = this.#readDefinition();
      first ??= name;
    }
    for (const name of this.#rules.keys()) this.#checkTerminal(name);
    const start = this.#rules.has("start") ? "start" : first;
    if (start === null) throw reader.malformed("no rule");
    return { rules: this.#completed(start), root: wholeText };
  }

  #completed(start: string): ReadonlyMap<string, GrammarNode> {
    const ignored: GrammarNode = { kind: "rule", name: ignoredRule, position: 0 };
    const named: GrammarNode = { kind: "rule", name: start, position: 0 };
    const text = isTerminalName(start) ? lexeme(this.#source, named) : named;
    return new Map([
      ...this.#rules,
      [
        ignoredRule,
        {
          kind: "repeat",
          part: { kind: "choice", parts: this.#ignored },
          min: 0,
          max: Number.POSITIVE_INFINITY,
        },
      ],
      [wholeText, { kind: "sequence", parts: this.#ignoresAtStart ? [ignored, text] : [text] }],
    ]);
  }

  /** Refuses a recursive terminal, because terminals must be regular. */
  #checkTerminal(name: string): void {
    const node = this.#rules.get(name);
    const { limits } = this.#source;
    if (node === undefined || !isTerminalName(name) || this.#checked.has(name)) return;
    if (this.#checking.size > limits.nesting) throw limitExceeded("nesting", limits.nesting);
    this.#checking.add(name);
    hasNode(node, (inner) => {
      if (inner.kind !== "rule") return false;
      if (this.#checking.has(inner.name))
        throw this.#reader.malformed(`a recursive terminal ${name}`, inner.position);
      this.#checkTerminal(inner.name);
      return false;
    });
    this.#checking.delete(name);
    this.#checked.add(name);
  }

  #define(name: string, node: GrammarNode, position: number): void {
    if (this.#rules.has(name)) throw this.#reader.malformed(`a second ${name}`, position);
    this.#rules.set(name, node);
  }

  #readDefinition(): string {
    const { position } = this.#reader;
    const { name, body } = this.#readBody();
    this.#define(name, body, position);
    return name;
  }

  #readBody(): { readonly name: string; readonly body: GrammarNode } {
    const reader = this.#reader;
    const { position } = reader;
    reader.match(/[!?]*/y);
    const name = readName(reader);
    if (name === null) throw reader.malformed("no rule");
    if (reader.sees("{")) throw reader.notExact("a template", reader.position, "Write a rule for each use");
    if (reader.sees("[") && isTerminalName(name)) throw reader.notExact("a terminal with attributes");
    const attributes = readAttributes(this.#source);
    // Skips the priority, which selects one of several parses. Here, any parse makes a text valid.
    reader.match(/\.-?\d+/y);
    skipBlanksOfLine(reader);
    if (reader.sees("::")) throw reader.notExact("a parameter");
    if (!reader.skip(":")) throw reader.malformed("a name without a definition", position);
    if (attributes !== null)
      return { name, body: lexeme(this.#source, restrictEnd(readTerminal(this.#source), attributes)) };
    return { name, body: isTerminalName(name) ? readTerminal(this.#source) : readChoice(this.#source) };
  }

  /** Reads the text after `%override` or `%extend`, which change an earlier definition or import. */
  #readChange(how: "override" | "extend"): void {
    const reader = this.#reader;
    const { position } = reader;
    const { name, body } = this.#readBody();
    const before = this.#rules.get(name);
    if (before === undefined)
      throw reader.malformed(`a change of ${name}, which is not yet defined`, position);
    this.#rules.set(name, how === "override" ? body : { kind: "choice", parts: [before, body] });
  }

  #readDirective(position: number): void {
    const reader = this.#reader;
    const name = readName(reader);
    skipBlanksOfLine(reader);
    switch (name) {
      case "ignore":
        this.#ignored.push(readTerminal(this.#source));
        return;
      case "import":
        this.#readImport(position);
        return;
      case "override":
      case "extend":
        this.#readChange(name);
        return;
      case "llguidance":
      case "grammar_options":
        this.#readOptions(position);
        return;
      default:
        throw reader.notExact(`the directive %${name ?? ""}`, position);
    }
  }

  #readImport(position: number): void {
    const reader = this.#reader;
    const path = reader.match(/\.?[\w-]+(?:\.[\w-]+)*/y)?.[0] ?? "";
    const parts = path.split(".");
    const last = reader.match(/[ \t]*\(/y) === null ? parts.pop() : undefined;
    if (parts.join(".") !== "common") throw reader.notExact(`an import of ${path}`, position);
    if (last !== undefined) {
      const newName = reader.match(/[ \t]*->[ \t]*/y) === null ? last : readName(reader);
      this.#import(last, newName ?? last, position);
      return;
    }
    do {
      skipBlanks(reader);
      const name = readName(reader) ?? "";
      this.#import(name, name, position);
      skipBlanks(reader);
    } while (reader.skip(","));
    if (!reader.skip(")")) throw reader.malformed("an unclosed list of imports", position);
  }

  #import(name: string, newName: string, position: number): void {
    const terminal = libraryTerminal(name, this.#source);
    if (terminal === null) throw this.#reader.notExact(`an import of common.${name}`, position);
    this.#define(newName, terminal, position);
  }

  #readOptions(position: number): void {
    const options = readJson(this.#reader, position);
    for (const [name, value] of Object.entries(
      typeof options === "object" && options !== null ? options : {},
    )) {
      // This option affects how llguidance works, not which texts are valid.
      if (name === "no_forcing") continue;
      if (name !== "allow_initial_skip" || typeof value !== "boolean")
        throw this.#reader.notExact(`the option ${name}`, position);
      this.#ignoresAtStart = value;
    }
  }
}
