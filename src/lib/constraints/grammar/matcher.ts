// A place in a text under a constraint: which tokens may come next, whether the text may end. Cheap to fork
// for each choice of a request and to roll back, since places are numbers of states that all share.
import { assert } from "../../../base/domain/assert.ts";
import type { Language } from "./language.ts";
import { withinStack } from "../regex/limits.ts";
import { deadParser } from "./parser/machine.ts";
import type { ParserState } from "./parser/machine.ts";
import { MaskSource } from "./trie/mask-source.ts";
import type { TokenTrie } from "./trie/token-trie.ts";

/** A constraint ready for one tokenizer. May serve any number of requests, one call at a time. */
export class CompiledConstraint {
  readonly language: Language;
  readonly trie: TokenTrie;
  readonly masks: MaskSource;

  constructor(language: Language, trie: TokenTrie) {
    this.language = language;
    this.trie = trie;
    this.masks = new MaskSource({ machine: language.machine, trie }, language.limits, language.budget);
  }

  /** Words of 32 tokens that a mask has. */
  get maskWords(): number {
    return Math.ceil(this.trie.tokenCount / 32);
  }

  /** About what it takes by now, without the vocabulary: it grows while it is followed. */
  get byteLength(): number {
    return this.language.machine.byteLength + this.masks.byteLength;
  }

  /** A matcher before the first token. */
  matcher(): Matcher {
    return new Matcher(this, [this.language.start]);
  }
}

export class Matcher {
  readonly #constraint: CompiledConstraint;
  /** The states before each accepted token, and the present one. */
  readonly #states: ParserState[];

  constructor(constraint: CompiledConstraint, states: readonly ParserState[]) {
    this.#constraint = constraint;
    this.#states = [...states];
  }

  /** Whether the text may end here; the caller then allows its end tokens, which no mask holds. */
  get mayEnd(): boolean {
    return this.#threads().mayEnd;
  }

  /** Whether the text must end here. */
  get mustEnd(): boolean {
    return this.#threads().lexers.length === 0;
  }

  /**
   * Writes which tokens may come next.
   *
   * @param into at least `maskWords` words, of which further ones become 0; bit `id % 32` of word `id / 32` is set for
   * an allowed token
   * @throws ConstraintRefusal when the limit of steps or states is reached
   */
  mask(into: Uint32Array): void {
    const { language, masks } = this.#constraint;
    language.budget.restart("maskSteps");
    withinStack(language.limits, () => masks.write(this.#state, into));
  }

  /** Takes a token, if it may come next; whether it did. */
  accept(token: number): boolean {
    const bytes = this.#constraint.trie.bytesOf[token] ?? null;
    if (bytes === null) return false;
    const { language } = this.#constraint;
    language.budget.restart("maskSteps");
    const state = withinStack(language.limits, () =>
      bytes.reduce((before, byte) => language.machine.next(before, byte), this.#state),
    );
    if (state === deadParser) return false;
    this.#states.push(state);
    return true;
  }

  /** Takes back the last accepted tokens. */
  rollback(tokenCount: number): void {
    assert(tokenCount < this.#states.length, "no more tokens are rolled back than were accepted");
    this.#states.length -= tokenCount;
  }

  /** A matcher at the same place that goes its own way. */
  fork(): Matcher {
    return new Matcher(this.#constraint, this.#states);
  }

  get #state(): ParserState {
    return this.#states[this.#states.length - 1];
  }

  #threads() {
    return this.#constraint.language.machine.threads(this.#state);
  }
}
