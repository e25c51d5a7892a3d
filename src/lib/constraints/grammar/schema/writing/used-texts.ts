// Texts of an array's items, or names of an object, that must not repeat. Immutable: each added text gives a new set,
// which shares structure.
import type { Expression } from "../../../regex/expressions.ts";
import type { Compilation } from "../../compilation.ts";

/** Number of texts merged into one expression, which all later sets share. */
const groupSize = 32;

let lastId = 0;

export class UsedTexts {
  /** Unique. */
  readonly id = ++lastId;
  readonly #compilation: Compilation;
  /** For each full group, the complement of its texts; and the texts outside full groups. */
  readonly #groups: readonly Expression[];
  readonly #texts: readonly string[];
  /** Number of used texts that are unknown. */
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

  /** Returns the texts not known to be used. */
  leftOf(texts: Expression): Expression {
    const { expressions } = this.#compilation;
    return expressions.and(texts, ...this.#groups, ...this.#texts.map((text) => this.#others([text])));
  }

  /** True if at least `count` of the texts are left, whichever the unknown ones are. */
  leaves(texts: Expression, count: number): boolean {
    const { automaton } = this.#compilation;
    return automaton.hasTexts(automaton.start(this.leftOf(texts)), count + this.#unknownCount);
  }

  #others(texts: readonly string[]): Expression {
    const { expressions } = this.#compilation;
    return expressions.not(expressions.listedText(texts));
  }
}
