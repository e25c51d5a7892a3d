// A position in a constrained text. Computes the mask for the next token, and whether the text may end. Forking and
// rolling back are cheap, because a position is only the number of a shared parser state.
import { assert } from "../../../base/domain/assert.ts";
import type { Language } from "./language.ts";
import { withinStack } from "../regex/limits.ts";
import { deadParser } from "./parser/machine.ts";
import type { ParserState } from "./parser/machine.ts";
import { MaskSource } from "./trie/mask-source.ts";
import type { TokenTrie } from "./trie/token-trie.ts";

/** A constraint compiled for one tokenizer. It serves any number of requests, but only one call at a time. */
export class CompiledConstraint {
  readonly language: Language;
  readonly trie: TokenTrie;
  readonly masks: MaskSource;

  constructor(language: Language, trie: TokenTrie) {
    this.language = language;
    this.trie = trie;
    this.masks = new MaskSource({ machine: language.machine, trie }, language.limits, language.budget);
  }

  /** Number of 32-bit words in a mask. */
  get maskWords(): number {
    return Math.ceil(this.trie.tokenCount / 32);
  }

  /** Approximate memory in bytes, excluding the vocabulary. It grows as texts reach new states. */
  get byteLength(): number {
    return this.language.machine.byteLength + this.masks.byteLength;
  }

  /** Returns a matcher positioned before the first token. */
  matcher(): Matcher {
    return new Matcher(this, [this.language.start]);
  }
}

export class Matcher {
  readonly #constraint: CompiledConstraint;
  /** The parser state before each accepted token, followed by the current state. */
  readonly #states: ParserState[];

  constructor(constraint: CompiledConstraint, states: readonly ParserState[]) {
    this.#constraint = constraint;
    this.#states = [...states];
  }

  /** True if the text may end here. If so, the caller also allows its end tokens, which no mask contains. */
  get mayEnd(): boolean {
    return this.#threads().mayEnd;
  }

  /** True if no token may follow: the text must end here. */
  get mustEnd(): boolean {
    return this.#threads().lexers.length === 0;
  }

  /**
   * Writes the mask for the next token.
   *
   * @param into at least `maskWords` words; words beyond these are set to 0. Bit `id % 32` of word `id / 32` is set if
   * the token is allowed
   * @throws ConstraintRefusal if a limit on steps or states is exceeded
   */
  mask(into: Uint32Array): void {
    const { language, masks } = this.#constraint;
    language.budget.restart("maskSteps");
    withinStack(language.limits, () => masks.write(this.#state, into));
  }

  /** Accepts the token if it is allowed; returns true if so. */
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

  /** Removes the most recently accepted tokens. */
  rollback(tokenCount: number): void {
    assert(tokenCount < this.#states.length, "no more tokens are rolled back than were accepted");
    this.#states.length -= tokenCount;
  }

  /** Returns an independent matcher at the same position. */
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
