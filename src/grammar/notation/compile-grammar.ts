// A grammar's text as rules of the parser. Rules that do not lead to themselves are regular and become expressions, so
// that most grammars consist of few, large lexemes.
import { unreachable } from "../../domain/assert.ts";
import { quoted } from "../../domain/service-error.ts";
import { ConstraintRefusal, limitExceeded } from "../../regex/limits.ts";
import { terminal } from "../parser/rules.ts";
import type { GrammarSymbol, Production } from "../parser/rules.ts";
import { plainSpelling } from "../../regex/characters.ts";
import type { Spelling } from "../../regex/characters.ts";
import { wholeMatch } from "../../regex/express-pattern.ts";
import type { Expression } from "../../regex/expressions.ts";
import type { Workshop } from "../workshop.ts";
import { referencesOf } from "./grammar-text.ts";
import type { GrammarNode, GrammarText } from "./grammar-text.ts";
import { withoutEndless, withoutLeftRecursion } from "./productions.ts";
import type { Piece, Pieces } from "./productions.ts";

/** The symbol of a whole text. @throws ConstraintRefusal for rules that are missing, and at a limit */
export function compileGrammar(text: GrammarText, workshop: Workshop): GrammarSymbol {
  for (const node of text.rules.values()) {
    for (const { name, position } of referencesOf(node))
      if (!text.rules.has(name)) throw missingRule(name, position);
  }
  const compiler = new GrammarCompiler(text, workshop);
  return compiler.symbol(text.root);
}

class GrammarCompiler {
  readonly #text: GrammarText;
  readonly #workshop: Workshop;
  readonly #spelling: Spelling;
  readonly #recursive: ReadonlySet<string>;
  readonly #expressions = new Map<string, Expression>();
  readonly #productions = new Map<string, readonly Pieces[]>();

  constructor(text: GrammarText, workshop: Workshop) {
    this.#text = text;
    this.#workshop = workshop;
    this.#spelling = plainSpelling(workshop.expressions);
    this.#recursive = recursiveRules(text);
  }

  symbol(root: string): GrammarSymbol {
    if (!this.#recursive.has(root)) return terminal(this.#ofRule(root, 0));
    for (const name of this.#recursive) this.#productions.set(name, this.#alternatives(this.#node(name)));
    const { automaton, limits, rules } = this.#workshop;
    const ending = withoutEndless(this.#productions, (expression) => automaton.isEmpty(expression));
    const ready = withoutLeftRecursion(ending, limits);
    const symbolOf = (name: string): GrammarSymbol =>
      rules.rule(`rule ${name}`, () =>
        (ready.get(name) ?? []).map((pieces): Production =>
          pieces.map((piece) => ("rule" in piece ? symbolOf(piece.rule) : terminal(piece.text))),
        ),
      );
    return symbolOf(root);
  }

  #node(name: string): GrammarNode {
    return this.#text.rules.get(name) ?? { kind: "choice", parts: [] };
  }

  #isRegular(node: GrammarNode): boolean {
    return !referencesOf(node).some(({ name }) => this.#recursive.has(name));
  }

  #ofRule(name: string, depth: number): Expression {
    const { limits } = this.#workshop;
    if (depth > limits.nesting) throw limitExceeded("nesting", limits.nesting);
    const known = this.#expressions.get(name) ?? this.#expressed(this.#node(name), depth + 1);
    this.#expressions.set(name, known);
    return known;
  }

  /** A node without recursive rules. */
  #expressed(node: GrammarNode, depth = 0): Expression {
    const { expressions } = this.#workshop;
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
      case "rule":
        return this.#ofRule(node.name, depth);
      default:
        return unreachable(node);
    }
  }

  /** Any node as productions. */
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

  /** A rule of the compiler's own. */
  #added(productions: readonly Pieces[]): Piece {
    const piece = this.#reserve();
    this.#productions.set(piece.rule, productions);
    return piece;
  }

  #reserve(): { readonly rule: string } {
    const { limits, budget } = this.#workshop;
    budget.spend(1);
    if (this.#productions.size >= limits.states) throw limitExceeded("states", limits.states);
    const piece = { rule: `part ${this.#productions.size}` };
    this.#productions.set(piece.rule, []);
    return piece;
  }
}

/** The rules that lead to one that leads to itself. All others are regular: they only name regular ones. */
function recursiveRules({ rules }: GrammarText): ReadonlySet<string> {
  const recursive = new Set(rules.keys());
  for (let before = -1; before !== recursive.size;) {
    before = recursive.size;
    for (const name of recursive) {
      const node = rules.get(name);
      if (node !== undefined && !referencesOf(node).some((other) => recursive.has(other.name)))
        recursive.delete(name);
    }
  }
  return recursive;
}

function missingRule(name: string, position: number): ConstraintRefusal {
  return new ConstraintRefusal({
    kind: "malformed",
    subject: name,
    place: `position ${position}`,
    message: `The grammar refers at position ${position} to the rule ${quoted(name)}, which it does not have.`,
  });
}
