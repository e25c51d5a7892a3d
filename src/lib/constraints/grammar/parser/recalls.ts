// Symbols that remember: right behind a terminal, such a symbol stands for what may follow the very text that the terminal
// had. The text is kept beside the lexeme, a symbol for each byte of it, so that the lexeme's own states stay few.
import { present } from "../../../../base/domain/assert.ts";
import type { GrammarSymbol, Productions, Rules } from "./rules.ts";

export interface Recall {
  /** What may follow the text. */
  readonly behind: (text: string) => Productions;
  /**
   * What may follow some text or other: as `behind` any text that came before, but that this one is not known. It then
   * says too much only where the text comes again, whole or as the only one that is left.
   */
  readonly behindAny: () => Productions;
}

/** A text as far as it is known. */
interface Recalled {
  readonly recall: Recall;
  readonly length: number;
  readonly before: GrammarSymbol | null;
  readonly lastByte: number;
}

export class Recalls {
  readonly #rules: Rules;
  readonly #recalled = new Map<GrammarSymbol, Recalled>();
  /** The symbol behind one more byte, by symbol and byte. */
  readonly #after = new Map<number, GrammarSymbol>();
  readonly #behindAny = new Map<Recall, GrammarSymbol>();

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  /** A symbol that is to stand right behind a terminal. */
  add(recall: Recall): GrammarSymbol {
    return this.#add({ recall, length: 0, before: null, lastByte: 0 });
  }

  has(symbol: GrammarSymbol): boolean {
    return this.#recalled.has(symbol);
  }

  /** The symbol behind one more byte of the terminal's text; one that remembers nothing stays as it is. */
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

  /** What stands for any text; a symbol that remembers nothing stays as it is. */
  withoutText(symbol: GrammarSymbol): GrammarSymbol {
    const recall = this.#recalled.get(symbol)?.recall;
    if (recall === undefined) return symbol;
    const known = this.#behindAny.get(recall) ?? this.#rules.add(recall.behindAny);
    this.#behindAny.set(recall, known);
    return known;
  }

  /** How many bytes of the text are known. */
  lengthOf(symbol: GrammarSymbol): number {
    return this.#recalled.get(symbol)?.length ?? 0;
  }

  /** The text so far. */
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
