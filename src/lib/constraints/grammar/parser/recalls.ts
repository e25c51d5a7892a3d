// Recall symbols. A recall symbol directly follows a terminal, and stands for productions that depend on the terminal's
// text. The text is recorded outside the lexeme, one symbol per byte, so the lexeme itself needs few lexer states.
import { present } from "../../../../base/domain/assert.ts";
import type { GrammarSymbol, Productions, Rules } from "./rules.ts";

export interface Recall {
  /** Returns the productions that may follow the terminal if `text` is the terminal's text. */
  readonly behind: (text: string) => Productions;
  /**
   * Returns the productions after a terminal of unknown text. They exclude the texts of earlier values, but not the
   * unknown text. So they allow too much only if a later value repeats the unknown text, or can only be completed to
   * that text.
   */
  readonly afterUnknown: () => Productions;
}

/** A terminal's text, read up to some byte. */
interface Recalled {
  readonly recall: Recall;
  readonly length: number;
  readonly before: GrammarSymbol | null;
  readonly lastByte: number;
}

export class Recalls {
  readonly #rules: Rules;
  readonly #recalled = new Map<GrammarSymbol, Recalled>();
  /** Cache of the symbols after one more byte. The key combines the symbol before the byte with the byte. */
  readonly #after = new Map<number, GrammarSymbol>();
  readonly #afterUnknown = new Map<Recall, GrammarSymbol>();

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  /** Adds a symbol that the caller places directly after a terminal. */
  add(recall: Recall): GrammarSymbol {
    return this.#add({ recall, length: 0, before: null, lastByte: 0 });
  }

  has(symbol: GrammarSymbol): boolean {
    return this.#recalled.has(symbol);
  }

  /** Returns the symbol after one more byte of the terminal's text; other symbols are returned unchanged. */
  after(symbol: GrammarSymbol, byte: number): GrammarSymbol {
    const recalled = this.#recalled.get(symbol);
    if (recalled === undefined) return symbol;
    const key = symbol * 256 + byte;
    const known = this.#after.get(key);
    if (known !== undefined) return known;
    const { recall, length } = recalled;
    const after = this.#add({ recall, length: length + 1, before: symbol, lastByte: byte });
    this.#after.set(key, after);
    return after;
  }

  /** Returns the symbol to use if the text is unknown. Symbols that are not recall symbols are returned unchanged. */
  withoutText(symbol: GrammarSymbol): GrammarSymbol {
    const recall = this.#recalled.get(symbol)?.recall;
    if (recall === undefined) return symbol;
    const known = this.#afterUnknown.get(recall) ?? this.#rules.add(recall.afterUnknown);
    this.#afterUnknown.set(recall, known);
    return known;
  }

  /** Number of bytes recorded for the symbol; 0 if it is not a recall symbol. */
  lengthOf(symbol: GrammarSymbol): number {
    return this.#recalled.get(symbol)?.length ?? 0;
  }

  /** Returns the text recorded so far. */
  textOf(symbol: GrammarSymbol): Uint8Array {
    const text = new Uint8Array(this.lengthOf(symbol));
    let at = symbol;
    for (let index = text.length - 1; index >= 0; index--) {
      const { before, lastByte } = present(this.#recalled.get(at), "a symbol for each byte of a text");
      text[index] = lastByte;
      at = present(before, "a symbol before each byte of a text");
    }
    return text;
  }

  #add(recalled: Recalled): GrammarSymbol {
    const symbol: GrammarSymbol = this.#rules.add(() =>
      recalled.recall.behind(new TextDecoder().decode(this.textOf(symbol))),
    );
    this.#recalled.set(symbol, recalled);
    return symbol;
  }
}
