// Computes the mask of a parser state: the tokens that stay within an active lexeme, and those that leave it and
// continue as the grammar allows. Caches masks up to a size limit in bytes.
import type { GrammarLimits, StepBudget } from "../../regex/limits.ts";
import type { LexerState } from "../../regex/automaton.ts";
import { deadParser } from "../parser/machine.ts";
import type { Machine, ParserState } from "../parser/machine.ts";
import type { Stacks } from "../parser/stacks.ts";
import { ByteCache } from "./byte-cache.ts";
import { constraintBase } from "../constraint-base.ts";
import { baseWalks } from "./base-walks.ts";
import type { BaseWalks } from "./base-walks.ts";
import { HarmlessSteps } from "./harmless-text.ts";
import { needsTrial } from "./doubts.ts";
import type { Doubt } from "./doubts.ts";
import { LexemeWalker } from "./lexeme-walk.ts";
import type { LexemeWalk } from "./lexeme-walk.ts";
import { Saturation } from "./saturation.ts";
import type { TokenTrie, TrieNodes } from "./token-trie.ts";

/** A mask computed without the recorded texts, and the tokens whose validity also depends on these texts. */
interface KnownMask {
  readonly bits: Uint32Array;
  readonly doubts: readonly Doubt[];
}

/** Measured memory of an entry in `KnownMask.doubts`, in bytes. */
const bytesPerDoubt = 80;

export class MaskSource {
  readonly #machine: Machine;
  readonly #trie: TokenTrie;
  readonly #budget: StepBudget;
  readonly #walker: LexemeWalker;
  readonly #saturation: Saturation;
  readonly #baseWalks: BaseWalks;
  readonly #walks: ByteCache<LexerState, LexemeWalk>;
  /**
   * Masks by the inputs that determine them: the lexer states as `Saturation` simplifies them, and the stacks that
   * follow each lexeme.
   */
  readonly #masks: ByteCache<string, KnownMask>;
  readonly #path: Int32Array;

  constructor(
    { machine, trie }: { readonly machine: Machine; readonly trie: TokenTrie },
    limits: GrammarLimits,
    budget: StepBudget,
  ) {
    this.#machine = machine;
    this.#trie = trie;
    this.#budget = budget;
    const { automaton } = machine;
    const steps = new HarmlessSteps(automaton, constraintBase().steps);
    this.#walker = new LexemeWalker({ automaton, steps }, trie, budget);
    this.#baseWalks = baseWalks(trie);
    this.#saturation = new Saturation(automaton, trie.depthMax);
    this.#walks = new ByteCache(limits.cachedMaskBytes / 2);
    this.#masks = new ByteCache(limits.cachedMaskBytes / 2);
    this.#path = new Int32Array(trie.depthMax + 1);
  }

  /** Memory of the cached walks and masks in bytes. */
  get byteLength(): number {
    return this.#walks.byteLength + this.#masks.byteLength;
  }

  /** Writes the mask of the state: one bit per token, with token 0 in the lowest bit of the first word. */
  write(state: ParserState, into: Uint32Array): void {
    const machine = this.#machine;
    const { lexers, follows } = machine.threads(state);
    const saturated = lexers.map((lexer) => this.#saturation.of(lexer));
    const behind = follows.map((stacks) => machine.withoutText(stacks));
    const key = `${saturated.join(",")};${behind.join(",")}`;
    const { bits, doubts } = this.#masks.get(key) ?? this.#newMask(key, { saturated, follows, behind }, into);
    into.set(bits);
    into.fill(0, bits.length);
    for (const doubt of doubts) {
      const { token, thread } = doubt;
      const bytes = this.#trie.bytesOf[token] ?? noBytes;
      if (needsTrial(doubt, bytes, machine.recalledTexts(follows[thread], bytes.length)))
        setBit(into, token, this.#goesOn(state, bytes));
    }
  }

  #newMask(
    key: string,
    {
      saturated,
      follows,
      behind,
    }: {
      readonly saturated: readonly LexerState[];
      readonly follows: readonly Stacks[];
      readonly behind: readonly Stacks[];
    },
    into: Uint32Array,
  ): KnownMask {
    into.fill(0);
    const doubts: Doubt[] = [];
    for (const [thread, lexer] of saturated.entries()) {
      const walk = this.#walk(lexer);
      addTokens(walk, into);
      if (walk.exits.length === 0 && walk.tails === null) continue;
      const after = this.#machine.open(behind[thread]);
      if (this.#machine.threads(after).lexers.length === 0) continue;
      const recalling = this.#machine.isRecalling(follows[thread]) ? thread : null;
      for (const { nodes, tops } of walk.exits)
        for (const top of tops) this.#walkBelow({ nodes, top }, { after, recalling, doubts }, into);
      if (walk.tails === null) continue;
      const { tails, excluded } = walk.tails;
      this.#walkBelow({ nodes: tails.nodes, top: 0, excluded }, { after, recalling, doubts }, into);
    }
    const bits = into.slice(0, Math.ceil(this.#trie.tokenCount / 32));
    const mask = { bits, doubts };
    this.#masks.set(key, mask, bits.byteLength + doubts.length * bytesPerDoubt);
    return mask;
  }

  /** True if the parser accepts the bytes in this state. */
  #goesOn(state: ParserState, bytes: Uint8Array): boolean {
    const after = bytes.reduce((before, byte) => this.#machine.next(before, byte), state);
    return after !== deadParser;
  }

  #walk = (lexer: LexerState): LexemeWalk => {
    if (lexer < this.#machine.automaton.baseCount) return this.#baseWalks.of(lexer);
    const known = this.#walks.get(lexer);
    if (known !== undefined) return known;
    const walk = this.#walker.walk(lexer, this.#walk);
    this.#walks.set(lexer, walk, walk.byteLength);
    return walk;
  };

  /**
   * Sets the bits of the tokens below a node whose remaining bytes the parser accepts.
   *
   * @param below.excluded tokens to leave out
   * @param from.after parser state at the node
   * @param from.recalling index of the lexeme that ends at the node, if its text is recorded; otherwise null
   * @param from.doubts receives the tokens that may be invalid after some texts of that lexeme
   */
  #walkBelow(
    { nodes, top, excluded }: Below,
    from: { readonly after: ParserState; readonly recalling: number | null; readonly doubts: Doubt[] },
    into: Uint32Array,
  ): void {
    const machine = this.#machine;
    const { byteOf, depthOf, endOf, tokens, tokensBefore } = nodes;
    const path = this.#path;
    const leftAt = depthOf[top];
    path[leftAt] = from.after;
    let visited = 0;
    for (let node = top + 1; node < endOf[top];) {
      visited += 1;
      const depth = depthOf[node];
      const after = machine.next(path[depth - 1], byteOf[node]);
      if (after === deadParser) {
        node = endOf[node];
        continue;
      }
      path[depth] = after;
      const length = depth - leftAt;
      for (let at = tokensBefore[node]; at < tokensBefore[node + 1]; at++) {
        const token = tokens[at];
        if (excluded?.has(token) === true) continue;
        setBit(into, token, true);
        // One byte after the lexeme can only be a separator, never a repetition of the recorded text.
        if (from.recalling !== null && length > 1)
          from.doubts.push({
            token,
            thread: from.recalling,
            leftAt: (this.#trie.bytesOf[token] ?? noBytes).length - length,
            isScarce: machine.isScarce(after),
          });
      }
      node += 1;
    }
    this.#budget.spend(visited >>> 7);
  }
}

interface Below {
  readonly nodes: TrieNodes;
  readonly top: number;
  readonly excluded?: ReadonlySet<number>;
}

const noBytes = new Uint8Array();

function setBit(mask: Uint32Array, token: number, isSet: boolean): void {
  if (isSet) mask[token >>> 5] |= 1 << (token & 31);
  else mask[token >>> 5] &= ~(1 << (token & 31));
}

function addTokens({ tokens }: LexemeWalk, into: Uint32Array): void {
  if ("bits" in tokens) {
    const { bits } = tokens;
    for (let word = 0; word < bits.length; word++) into[word] |= bits[word];
  } else for (const id of tokens.ids) into[id >>> 5] |= 1 << (id & 31);
}
