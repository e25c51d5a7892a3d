// Naive reference for the parser: Earley's recognizer (1970). For each position it records the productions in progress
// and the positions where they began. It has no states, tables or sets of stacks, but shares the rules and the
// derivatives of expressions with the parser.
import type { Expression } from "../../regex/expressions.ts";
import type { Language } from "../language.ts";
import { isTerminal, symbolIndex } from "../parser/rules.ts";
import type { GrammarSymbol, Production } from "../parser/rules.ts";

/**
 * A production in progress: its rule (null for the whole text), the number of its finished symbols, and the position
 * where it began.
 */
interface Item {
  readonly rule: GrammarSymbol | null;
  readonly production: Production;
  readonly done: number;
  readonly begun: Place;
}

/** A lexeme in progress: the expression for the rest of its text, and the position where it began. */
interface Way {
  readonly symbol: GrammarSymbol;
  readonly lexeme: Expression;
  readonly begun: Place;
  /** Bytes of the lexeme read so far. */
  readonly text: readonly number[];
}

/** A position in a text, with all productions and lexemes in progress there. */
export class Place {
  readonly ways: Way[] = [];
  /** True if the text may end here. */
  mayEnd = false;
  /** Productions in progress, by their next symbol. */
  readonly waiting = new Map<GrammarSymbol, Item[]>();
  /** For each symbol that ends at this position, the positions where it may have begun. */
  readonly #finished = new Map<GrammarSymbol, Set<Place>>();

  wait(symbol: GrammarSymbol, item: Item): boolean {
    const known = this.waiting.get(symbol) ?? [];
    const isNew = known.every(
      ({ rule, production, done, begun }) =>
        rule !== item.rule || production !== item.production || done !== item.done || begun !== item.begun,
    );
    if (isNew) known.push(item);
    this.waiting.set(symbol, known);
    return isNew;
  }

  isFinished(symbol: GrammarSymbol, begun: Place): boolean {
    return this.#finished.get(symbol)?.has(begun) === true;
  }

  finish(symbol: GrammarSymbol, begun: Place): void {
    const known = this.#finished.get(symbol) ?? new Set();
    this.#finished.set(symbol, known.add(begun));
  }
}

export class EarleyMatcher {
  readonly #language: Language;

  constructor(language: Language) {
    this.#language = language;
  }

  /** Returns the position before the first byte. */
  start(): Place {
    const place = new Place();
    this.#add(place, { rule: null, production: [this.#language.symbol], done: 0, begun: place });
    return place;
  }

  after({ ways }: Place, byte: number): Place {
    const { automaton } = this.#language.machine;
    const { expressions } = automaton;
    const place = new Place();
    for (const { symbol, lexeme, begun, text: before } of ways) {
      const left = expressions.derivative(lexeme, byte);
      if (automaton.isEmpty(left)) continue;
      const text = [...before, byte];
      place.ways.push({ symbol, lexeme: left, begun, text });
      if (expressions.isNullable(left)) this.#finish(place, symbol, begun, text);
    }
    return place;
  }

  /** True if the text so far is a prefix of some valid text. */
  isAlive({ ways, mayEnd }: Place): boolean {
    const { automaton } = this.#language.machine;
    const { expressions } = automaton;
    const goesOn = ({ lexeme }: Way): boolean =>
      expressions
        .classes(lexeme)
        .firsts.some((byte) => !automaton.isEmpty(expressions.derivative(lexeme, byte)));
    return mayEnd || ways.some(goesOn);
  }

  #add(place: Place, item: Item): void {
    const { rule, production, done, begun } = item;
    if (done === production.length) {
      if (rule === null) place.mayEnd = true;
      else this.#finish(place, rule, begun);
      return;
    }
    const symbol = production[done];
    const isForeseen = place.waiting.has(symbol);
    if (!place.wait(symbol, item)) return;
    if (!isForeseen) this.#foresee(place, symbol);
    // The symbol has already matched the empty text here. `#finish` ran before this item was added, so the item
    // advances now.
    else if (place.isFinished(symbol, place)) this.#add(place, { ...item, done: done + 1 });
  }

  #foresee(place: Place, symbol: GrammarSymbol): void {
    if (!isTerminal(symbol)) {
      for (const production of this.#language.rules.productions(symbol))
        this.#add(place, { rule: symbol, production, done: 0, begun: place });
      return;
    }
    const lexeme = symbolIndex(symbol);
    place.ways.push({ symbol, lexeme, begun: place, text: [] });
    if (this.#language.machine.automaton.expressions.isNullable(lexeme)) this.#finish(place, symbol, place);
  }

  #finish(place: Place, symbol: GrammarSymbol, begun: Place, text: readonly number[] = []): void {
    if (place.isFinished(symbol, begun)) return;
    place.finish(symbol, begun);
    for (const item of begun.waiting.get(symbol) ?? [])
      this.#add(place, { ...item, production: this.#recalled(item, text), done: item.done + 1 });
  }

  /**
   * If a recall symbol follows the finished symbol, returns the production with that recall symbol replaced by the
   * symbol for the finished text. Otherwise returns the production unchanged.
   */
  #recalled({ production, done }: Item, text: readonly number[]): Production {
    const { recalls } = this.#language.machine;
    if (!recalls.has(production[done + 1])) return production;
    const recall = text.reduce((symbol, byte) => recalls.after(symbol, byte), production[done + 1]);
    return production.with(done + 1, recall);
  }
}
