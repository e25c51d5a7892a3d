// A set of texts that must not repeat: items of an array, or names of an object. The set is immutable; adding a text
// returns a new set that shares structure with the old one.
import type { Expression } from "../../../regex/expressions.ts";
import type { Compilation } from "../../compilation.ts";

/** Number of texts that are merged into one expression, which all later sets share. */
const groupSize = 32;

let lastId = 0;

export class UsedTexts {
  /** Unique number of the set. */
  readonly id = ++lastId;
  readonly #compilation: Compilation;
  /** Complement of the texts of each full group; `#texts` contains the texts outside full groups. */
  readonly #groups: readonly Expression[];
  readonly #texts: readonly string[];
  /** Number of used texts whose content is unknown. */
  readonly #unknownCount: number;

  private constructor(
    compilation: Compilation,
    used: { readonly groups: readonly Expression[]; readonly texts: readonly string[] },
    unknownCount: number,
  ) {
    this.#compilation = compilation;
    this.#groups = used.groups;
    this.#texts = used.texts;
    this.#unknownCount = unknownCount;
  }

  static none(compilation: Compilation): UsedTexts {
    return new UsedTexts(compilation, { groups: [], texts: [] }, 0);
  }

  get count(): number {
    return this.#groups.length * groupSize + this.#texts.length + this.#unknownCount;
  }

  with(text: string): UsedTexts {
    const texts = [...this.#texts, text];
    const isFull = texts.length === groupSize;
    const groups = isFull ? [...this.#groups, this.#others(texts)] : this.#groups;
    return new UsedTexts(this.#compilation, { groups, texts: isFull ? [] : texts }, this.#unknownCount);
  }

  withUnknown(): UsedTexts {
    const used = { groups: this.#groups, texts: this.#texts };
    return new UsedTexts(this.#compilation, used, this.#unknownCount + 1);
  }

  /** Returns the given texts without those known to be used. */
  leftOf(texts: Expression): Expression {
    const { expressions } = this.#compilation;
    return expressions.and(texts, ...this.#groups, ...this.#texts.map((text) => this.#others([text])));
  }

  /**
   * True if at least `count` of the given texts are unused, even if each used text with unknown content is one of them.
   */
  leaves(texts: Expression, count: number): boolean {
    const { automaton } = this.#compilation;
    return automaton.hasTexts(automaton.start(this.leftOf(texts)), count + this.#unknownCount);
  }

  #others(texts: readonly string[]): Expression {
    const { expressions } = this.#compilation;
    return expressions.not(expressions.listedText(texts));
  }
}
