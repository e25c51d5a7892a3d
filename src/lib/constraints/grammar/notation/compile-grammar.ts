// Compiles a grammar to rules of the parser. A rule is regular if it refers, directly or indirectly, neither to a
// recursive rule nor to a schema. Regular rules become expressions, so most grammars consist of few, large lexemes.
import { assert, unreachable } from "../../../../base/domain/assert.ts";
import type { ConstraintOptions } from "../../../../base/domain/constraint.ts";
import { quoted } from "../../../../base/domain/service-error.ts";
import { ConstraintRefusal, limitExceeded } from "../../regex/limits.ts";
import { terminal } from "../parser/rules.ts";
import type { GrammarSymbol, Production } from "../parser/rules.ts";
import { jsonSpelling, plainSpelling } from "../../regex/characters/spelling.ts";
import type { Spelling } from "../../regex/characters/spelling.ts";
import { wholeMatch } from "../../regex/compile-pattern.ts";
import { nothing } from "../../regex/expressions.ts";
import type { Expression } from "../../regex/expressions.ts";
import type { Compilation } from "../compilation.ts";
import { embeddedSchema } from "./embedded-schema.ts";
import { hasNode, literalNode } from "./grammar-text.ts";
import type { GrammarNode, GrammarText } from "./grammar-text.ts";
import { keepProductive } from "./productions.ts";
import type { Piece, Pieces } from "./productions.ts";

/**
 * Compiles a grammar to the symbol of its start rule.
 *
 * @throws ConstraintRefusal for missing rules, refused schemas and exceeded limits
 */
export function compileGrammar(
  text: GrammarText,
  options: ConstraintOptions & { readonly isInJson?: boolean },
  compilation: Compilation,
): GrammarSymbol {
  for (const node of text.rules.values()) {
    hasNode(node, (inner) => {
      if (inner.kind === "rule" && !text.rules.has(inner.name)) throw missingRule(inner.name, inner.position);
      if (inner.kind === "schema" && options.isInJson === true) throw schemaInString(inner.position);
      return false;
    });
  }
  return new GrammarCompiler(text, options, compilation).symbol(text.root);
}

class GrammarCompiler {
  readonly #text: GrammarText;
  readonly #options: ConstraintOptions;
  readonly #compilation: Compilation;
  readonly #spelling: Spelling;
  readonly #irregular: ReadonlySet<string>;
  readonly #regular = new Map<GrammarNode, boolean>();
  readonly #expressions = new Map<string, Expression>();
  readonly #productions = new Map<string, readonly Pieces[]>();

  constructor(
    text: GrammarText,
    options: ConstraintOptions & { readonly isInJson?: boolean },
    compilation: Compilation,
  ) {
    this.#text = text;
    this.#options = options;
    this.#compilation = compilation;
    const spelling = options.isInJson === true ? jsonSpelling : plainSpelling;
    this.#spelling = spelling(compilation.expressions);
    this.#irregular = irregularRules(text);
  }

  symbol(root: string): GrammarSymbol {
    if (!this.#irregular.has(root)) return terminal(this.#ofRule(root, 0));
    for (const name of this.#irregular) this.#productions.set(name, this.#alternatives(this.#node(name)));
    const { automaton, budget, rules } = this.#compilation;
    const ready = keepProductive(this.#productions, automaton, budget);
    const symbolOf = (name: string): GrammarSymbol =>
      rules.rule(`rule ${name}`, () =>
        (ready.get(name) ?? []).map((pieces): Production =>
          pieces.map((piece) => {
            if ("rule" in piece) return symbolOf(piece.rule);
            return "text" in piece ? terminal(piece.text) : piece.schema;
          }),
        ),
      );
    return symbolOf(root);
  }

  #node(name: string): GrammarNode {
    return this.#text.rules.get(name) ?? { kind: "choice", parts: [] };
  }

  #isRegular(node: GrammarNode): boolean {
    const isRegular = this.#regular.get(node) ?? this.#isMadeOfRegular(node);
    this.#regular.set(node, isRegular);
    return isRegular;
  }

  #isMadeOfRegular(node: GrammarNode): boolean {
    if (node.kind === "rule") return !this.#irregular.has(node.name);
    if ("part" in node) return this.#isRegular(node.part);
    if ("parts" in node) return node.parts.every((part) => this.#isRegular(part));
    return node.kind !== "schema";
  }

  #ofRule(name: string, depth: number): Expression {
    const { limits } = this.#compilation;
    if (depth > limits.nesting) throw limitExceeded("nesting", limits.nesting);
    const known = this.#expressions.get(name) ?? this.#expressed(this.#node(name), depth + 1);
    this.#expressions.set(name, known);
    return known;
  }

  /** Compiles a regular node to an expression. */
  #expressed(node: GrammarNode, depth = 0): Expression {
    const { expressions } = this.#compilation;
    assert(node.kind !== "schema", "a schema is not regular");
    switch (node.kind) {
      case "character":
        return this.#spelling.spell(node.set);
      case "sequence":
        return expressions.sequence(...node.parts.map((part) => this.#expressed(part, depth)));
      case "choice":
        return expressions.or(...node.parts.map((part) => this.#expressed(part, depth)));
      case "repeat":
        return expressions.repeat(this.#expressed(node.part, depth), node.min, node.max);
      case "pattern":
        return wholeMatch({ expressions, spelling: this.#spelling, place: "" }, node.pattern);
      case "all":
        return expressions.and(...node.parts.map((part) => this.#expressed(part, depth)));
      case "other":
        return expressions.and(this.#anyText, expressions.not(this.#expressed(node.part, depth)));
      case "substring":
        return this.#substring(node.chunks);
      case "rule":
        return this.#ofRule(node.name, depth);
      default:
        return unreachable(node);
    }
  }

  #substring(chunks: readonly string[]): Expression {
    const { expressions, budget } = this.#compilation;
    const beginnings: Expression[] = [expressions.sequence()];
    for (const chunk of chunks.toReversed()) {
      budget.spend(1 + (chunk.length >>> 2));
      const more = expressions.sequence(
        this.#expressed(literalNode(chunk)),
        beginnings[beginnings.length - 1],
      );
      beginnings.push(expressions.or(beginnings[0], more));
    }
    return expressions.or(...beginnings);
  }

  get #anyText(): Expression {
    return this.#compilation.expressions.repeat(this.#spelling.character, 0);
  }

  /** Compiles any node to productions, one for each alternative. */
  #alternatives(node: GrammarNode): readonly Pieces[] {
    if (node.kind === "choice") return node.parts.flatMap((part) => this.#alternatives(part));
    return [this.#pieces(node)];
  }

  #pieces(node: GrammarNode): Pieces {
    if (this.#isRegular(node)) return [{ text: this.#expressed(node) }];
    switch (node.kind) {
      case "sequence":
        return node.parts.flatMap((part) => this.#pieces(part));
      case "choice":
        return [this.#added(this.#alternatives(node))];
      case "repeat":
        return this.#repeated(node.part, node.min, node.max);
      case "rule":
        return [{ rule: node.name }];
      case "schema": {
        const schema = embeddedSchema(node, this.#options, this.#compilation);
        return [schema === null ? { text: nothing } : { schema }];
      }
      default:
        return [{ text: this.#expressed(node) }];
    }
  }

  #repeated(part: GrammarNode, min: number, max: number): Pieces {
    const once = this.#alternatives(part);
    const one = this.#added(once);
    const required = Array.from({ length: min }, () => one);
    if (max === Number.POSITIVE_INFINITY) {
      const more = this.#reserve();
      this.#productions.set(more.rule, [[], [one, more]]);
      return [...required, more];
    }
    const optional = Array.from({ length: max - min }).reduce<Pieces>(
      (rest) => [this.#added([[], [one, ...rest]])],
      [],
    );
    return [...required, ...optional];
  }

  /** Adds a rule that the compiler generates. */
  #added(productions: readonly Pieces[]): Piece {
    const piece = this.#reserve();
    this.#productions.set(piece.rule, productions);
    return piece;
  }

  #reserve(): { readonly rule: string } {
    const { limits, budget } = this.#compilation;
    budget.spend(1);
    if (this.#productions.size >= limits.states) throw limitExceeded("states", limits.states);
    const piece = { rule: `part ${this.#productions.size}` };
    this.#productions.set(piece.rule, []);
    return piece;
  }
}

/**
 * Returns the names of the rules that refer, directly or indirectly, to a recursive rule or to a schema. All others
 * are regular.
 */
function irregularRules({ rules }: GrammarText): ReadonlySet<string> {
  const users = new Map<string, string[]>();
  /**
   * By rule name: number of references to rules not yet known to be regular, plus the number of schemas, which are
   * never regular.
   */
  const open = new Map<string, number>();
  for (const [name, node] of rules) {
    let count = 0;
    hasNode(node, (inner) => {
      if (inner.kind === "rule") {
        const known = users.get(inner.name) ?? [];
        known.push(name);
        users.set(inner.name, known);
      }
      if (inner.kind === "rule" || inner.kind === "schema") count += 1;
      return false;
    });
    open.set(name, count);
  }
  const regular = [...rules.keys()].filter((name) => open.get(name) === 0);
  for (const name of regular) {
    for (const user of users.get(name) ?? []) {
      const left = (open.get(user) ?? 0) - 1;
      open.set(user, left);
      if (left === 0) regular.push(user);
    }
  }
  const known = new Set(regular);
  return new Set([...rules.keys()].filter((name) => !known.has(name)));
}

function schemaInString(position: number): ConstraintRefusal {
  return new ConstraintRefusal({
    kind: "not-exact",
    subject: "%json",
    place: `position ${position}`,
    message: `The grammar has a JSON Schema at position ${position}, which is not supported for text within a JSON string.`,
  });
}

function missingRule(name: string, position: number): ConstraintRefusal {
  return new ConstraintRefusal({
    kind: "malformed",
    subject: name,
    place: `position ${position}`,
    message: `The grammar refers to the rule ${quoted(name)} at position ${position}, but does not define it.`,
  });
}
