// Parses a template's statements.
import { TemplateFault } from "../fault.ts";
import { parseExpression, parseFilters, parseOr, parsePrimary, parseTuple } from "./expressions.ts";
import { tokenize } from "./lexer.ts";
import type { Body, Expression, Signature, Statement } from "./nodes.ts";
import { TokenReader } from "./reader.ts";

/**
 * Parses a template.
 *
 * @throws TemplateFault with its line for invalid syntax; RangeError if it is nested too deeply
 */
export function parseTemplate(source: string): Body {
  return new Parser(new TokenReader(tokenize(source))).parseAll();
}

/** Parses a tag's statement; the tag's name is already read. */
type TagParser = (line: number) => Statement;

class Parser {
  readonly #reader: TokenReader;
  /** Open tags, the innermost last. */
  readonly #open: string[] = [];
  readonly #tags: ReadonlyMap<string, TagParser>;

  constructor(reader: TokenReader) {
    this.#reader = reader;
    const load = (tag: string) => [tag, (line: number) => this.#load(tag, line)] as const;
    this.#tags = new Map<string, TagParser>([
      ["if", (line) => this.#if(line)],
      ["for", (line) => this.#for(line)],
      ["set", (line) => this.#set(line)],
      ["macro", (line) => this.#macro(line)],
      ["call", (line) => this.#callBlock(line)],
      ["filter", (line) => this.#filterBlock(line)],
      ["with", (line) => this.#with(line)],
      ["print", (line) => ({ kind: "print", line, value: parseTuple(reader) })],
      ["break", (line) => ({ kind: "break", line })],
      ["continue", (line) => ({ kind: "continue", line })],
      ["block", (line) => this.#block(line)],
      ["autoescape", (line) => this.#autoescape(line)],
      ["generation", (line) => this.#scope(line, "endgeneration", false)],
      ...["include", "import", "from", "extends"].map(load),
    ]);
  }

  parseAll(): Body {
    return this.#body([]);
  }

  /**
   * Reads up to a tag that ends the body, and leaves the reader after the tag's name; `""` stands for the template's
   * end.
   */
  #body(endTags: readonly string[]): Statement[] {
    const reader = this.#reader;
    const statements: Statement[] = [];
    for (;;) {
      const { current } = reader;
      const { line } = current;
      switch (current.kind) {
        case "data":
          reader.next();
          statements.push({ kind: "text", line, text: current.text });
          break;
        case "print-begin":
          reader.next();
          statements.push({ kind: "print", line, value: parseTuple(reader) });
          reader.expect("print-end", "'}}'");
          break;
        case "block-begin":
          reader.next();
          if (reader.isName(...endTags)) return statements;
          statements.push(this.#statement(endTags));
          reader.expect("block-end", "'%}'");
          break;
        default:
          if (endTags.length === 0) return statements;
          throw new TemplateFault(`Unexpected end of template.${this.#expected(endTags)}`, line);
      }
    }
  }

  #statement(endTags: readonly string[]): Statement {
    const reader = this.#reader;
    const { line } = reader;
    const tag = reader.expectName();
    const parse = this.#tags.get(tag);
    if (parse === undefined)
      throw new TemplateFault(`Encountered unknown tag '${tag}'.${this.#expected(endTags)}`, line);
    this.#open.push(tag);
    const statement = parse(line);
    this.#open.pop();
    return statement;
  }

  #expected(endTags: readonly string[]): string {
    const innermost = this.#open.at(-1);
    const looking =
      endTags.length === 0 ? "" : ` It looked for ${endTags.map((tag) => `'${tag}'`).join(" or ")}.`;
    return innermost === undefined ? looking : `${looking} The innermost open block is '${innermost}'.`;
  }

  /** Reads a tag's body including its end tag; returns the body and which end tag it was. */
  #within(endTags: readonly string[]): { readonly body: Body; readonly end: string } {
    const reader = this.#reader;
    reader.skipOperator(":");
    reader.expect("block-end", "'%}'");
    const body = this.#body(endTags);
    return { body, end: reader.expectName() };
  }

  #if(line: number): Statement {
    const branches: { readonly test: Expression; readonly body: Body }[] = [];
    for (;;) {
      const test = parseTuple(this.#reader, { parseItem: parseOr });
      const { body, end } = this.#within(["elif", "else", "endif"]);
      branches.push({ test, body });
      if (end === "elif") continue;
      const otherwise = end === "else" ? this.#within(["endif"]).body : [];
      return { kind: "if", line, branches, otherwise };
    }
  }

  #for(line: number): Statement {
    const reader = this.#reader;
    const target = this.#target("in");
    if (!reader.skipName("in")) reader.refuse("expected 'in'");
    const iterable = parseTuple(reader, { parseItem: parseOr, endName: "recursive" });
    const test = reader.skipName("if") ? parseExpression(reader) : null;
    const isRecursive = reader.skipName("recursive");
    const { body, end } = this.#within(["endfor", "else"]);
    const otherwise = end === "else" ? this.#within(["endfor"]).body : [];
    return { kind: "for", line, target, iterable, test, isRecursive, body, otherwise };
  }

  #set(line: number): Statement {
    const reader = this.#reader;
    const target = this.#target();
    if (reader.skipOperator("=")) return { kind: "set", line, target, value: parseTuple(reader) };
    const filter = parseFilters(reader, null);
    return { kind: "set-block", line, target, filter, body: this.#within(["endset"]).body };
  }

  #macro(line: number): Statement {
    const name = this.#assignableName();
    const signature = this.#signature();
    return { kind: "macro", line, name, signature, body: this.#within(["endmacro"]).body };
  }

  #callBlock(line: number): Statement {
    const reader = this.#reader;
    const signature = reader.isOperator("(") ? this.#signature() : { parameters: [], defaults: [] };
    const call = parseExpression(reader);
    if (call.kind !== "call") throw new TemplateFault("expected call", line);
    return { kind: "call-block", line, call, signature, body: this.#within(["endcall"]).body };
  }

  #filterBlock(line: number): Statement {
    const filter = parseFilters(this.#reader, null, true);
    if (filter === null) return this.#reader.refuse("expected a filter");
    return { kind: "filter-block", line, filter, body: this.#within(["endfilter"]).body };
  }

  #with(line: number): Statement {
    const reader = this.#reader;
    const targets: Expression[] = [];
    const values: Expression[] = [];
    while (reader.current.kind !== "block-end") {
      if (targets.length > 0) reader.expectOperator(",");
      targets.push(this.#target());
      reader.expectOperator("=");
      values.push(parseExpression(reader));
    }
    return { kind: "with", line, targets, values, body: this.#within(["endwith"]).body };
  }

  #block(line: number): Statement {
    const reader = this.#reader;
    const name = reader.expectName();
    reader.skipName("scoped");
    reader.skipName("required");
    const statement = this.#scope(line, "endblock", true);
    reader.skipName(name);
    return statement;
  }

  /** Parses `autoescape`, which has no effect: nothing is escaped. */
  #autoescape(line: number): Statement {
    parseExpression(this.#reader);
    return this.#scope(line, "endautoescape", false);
  }

  #scope(line: number, endTag: string, isOutermost: boolean): Statement {
    return { kind: "scope", line, isOutermost, body: this.#within([endTag]).body };
  }

  #load(tag: string, line: number): Statement {
    while (this.#reader.current.kind !== "block-end" && this.#reader.current.kind !== "end")
      this.#reader.next();
    return { kind: "load", line, tag };
  }

  #signature(): Signature {
    const reader = this.#reader;
    const parameters: string[] = [];
    const defaults: Expression[] = [];
    reader.expectOperator("(");
    while (!reader.isOperator(")")) {
      if (parameters.length > 0) reader.expectOperator(",");
      const { line } = reader;
      parameters.push(this.#assignableName());
      if (reader.skipOperator("=")) defaults.push(parseExpression(reader));
      else if (defaults.length > 0)
        throw new TemplateFault("non-default argument follows default argument", line);
    }
    reader.expectOperator(")");
    return { parameters, defaults };
  }

  #assignableName(): string {
    const { line } = this.#reader;
    const name = this.#reader.expectName();
    requireAssignable({ kind: "name", line, name });
    return name;
  }

  /** Parses the target of an assignment: a name, a member of a namespace, or several of these. */
  #target(endName?: string): Expression {
    const target = parseTuple(this.#reader, { parseItem: parseTargetItem, endName });
    requireAssignable(target);
    return target;
  }
}

function parseTargetItem(reader: TokenReader): Expression {
  const { current, following, line } = reader;
  if (current.kind !== "name" || following.kind !== "operator" || following.text !== ".")
    return parsePrimary(reader);
  reader.next();
  reader.next();
  return { kind: "namespace-member", line, name: current.text, member: reader.expectName() };
}

const reserved: ReadonlySet<string> = new Set(["true", "false", "none", "True", "False", "None"]);

function requireAssignable(target: Expression): void {
  if (target.kind === "tuple") return target.items.forEach(requireAssignable);
  const isName = target.kind === "name" && !reserved.has(target.name);
  if (!isName && target.kind !== "namespace-member")
    throw new TemplateFault(`can't assign to '${target.kind}'`, target.line);
}
