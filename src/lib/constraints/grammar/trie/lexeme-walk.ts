// Walks the token trie from a lexer state to find the tokens that stay within the lexeme, and the nodes at which the
// lexeme may end. The result does not depend on the surrounding grammar and makes up most of a mask inside a string,
// so it is cached. If most harmless bytes lead to one state (as in a name that must differ from given names), the walk
// borrows: it copies that state's walk and corrects the differences.
import type { StepBudget } from "../../regex/limits.ts";
import { deadState } from "../../regex/automaton.ts";
import type { Automaton, LexerState } from "../../regex/automaton.ts";
import { harmlessBytes, harmlessLengthMax, isLead, isWithinCharacter } from "./harmless-text.ts";
import type { HarmlessSteps } from "./harmless-text.ts";
import { tailsBelow } from "./tails.ts";
import type { Exits, Tails } from "./tails.ts";
import { TokenRuns } from "./token-runs.ts";
import type { TokenTrie, TrieNodes } from "./token-trie.ts";

export interface LexemeWalk {
  /** Tokens whose bytes all belong to the lexeme: a bit mask, or ids if there are few. */
  readonly tokens: { readonly bits: Uint32Array } | { readonly ids: Int32Array };
  readonly exits: readonly Exits[];
  /**
   * Tails (the parts of tokens after the lexeme) for those exits that are not in `exits`; null if `exits` lists all
   * exits.
   */
  readonly tails: BorrowedTails | null;
  readonly byteLength: number;
}

export interface BorrowedTails {
  readonly tails: Tails;
  /**
   * Tokens that this walk ignores in `tails`, because they belong only to the walk from which the tails were borrowed.
   */
  readonly excluded: ReadonlySet<number>;
}

/**
 * A cached walk that another walk copies. Most harmless bytes lead to `state`, both from the state of the other walk
 * and from `state` itself.
 */
interface BorrowedWalk {
  readonly state: LexerState;
  readonly bits: Uint32Array;
  readonly tails: Tails;
}

interface PartWalk {
  readonly allowed: TokenRuns;
  readonly tops: Int32Array;
  /** Ranges of positions in the token list whose tokens are not borrowed, as alternating starts and ends. */
  readonly gaps: readonly number[];
}

export class LexemeWalker {
  readonly #automaton: Automaton;
  readonly #steps: HarmlessSteps;
  readonly #trie: TokenTrie;
  readonly #budget: StepBudget;
  /** Lexer states on the way from the trie's root to the current node, by depth. */
  readonly #path: Int32Array;
  /**
   * Like `#path`, but with the root in the state of the walk that is copied. The dead state marks depths below which
   * nothing can be copied.
   */
  readonly #borrowedPath: Int32Array;

  constructor(
    { automaton, steps }: { readonly automaton: Automaton; readonly steps: HarmlessSteps },
    trie: TokenTrie,
    budget: StepBudget,
  ) {
    this.#automaton = automaton;
    this.#steps = steps;
    this.#trie = trie;
    this.#budget = budget;
    this.#path = new Int32Array(trie.depthMax + 1);
    this.#borrowedPath = new Int32Array(trie.depthMax + 1);
  }

  /** @param walkOf returns the walk of another state */
  walk(state: LexerState, walkOf: (state: LexerState) => LexemeWalk): LexemeWalk {
    const { harmless, others } = this.#trie;
    const majority = this.#majorityState(state);
    const borrowed = majority === state ? null : this.#borrowFrom(majority, walkOf);
    const parts = {
      harmless: this.#walkNodes(harmless, state, borrowed),
      others: this.#walkNodes(others, state, borrowed),
    };
    const found = [
      { nodes: harmless, tops: parts.harmless.tops },
      { nodes: others, tops: parts.others.tops },
    ].filter(({ tops }) => tops.length > 0);
    if (borrowed !== null) return this.#withBorrowed(borrowed, parts, found);
    const tokens = this.#allowed(parts);
    const tails = majority === state ? tailsBelow(found, this.#trie) : null;
    const exits = tails === null ? found : [];
    return {
      tokens,
      exits,
      tails: tails && { tails, excluded: noTokens },
      byteLength: bytesOf(tokens) + bytesOfExits(exits) + (tails?.byteLength ?? 0),
    };
  }

  /**
   * Returns the walk of `lender`. Returns null if most harmless bytes do not lead from the lender back to it, or if its
   * walk has no bit mask or no tails.
   */
  #borrowFrom(lender: LexerState, walkOf: (state: LexerState) => LexemeWalk): BorrowedWalk | null {
    if (lender === deadState || this.#majorityState(lender) !== lender) return null;
    const { tokens, tails } = walkOf(lender);
    return "bits" in tokens && tails !== null
      ? { state: lender, bits: tokens.bits, tails: tails.tails }
      : null;
  }

  /** Returns the state that more than half of the harmless bytes lead to; the dead state if there is no such state. */
  #majorityState(state: LexerState): LexerState {
    const counts = new Map<LexerState, number>();
    for (const byte of harmlessBytes) {
      const next = this.#automaton.next(state, byte);
      const count = (counts.get(next) ?? 0) + 1;
      if (count * 2 > harmlessBytes.length) return next;
      counts.set(next, count);
    }
    return deadState;
  }

  /** Finds the tokens that the lexeme accepts from the state, and the nodes at which the lexeme may end. */
  #walkNodes(nodes: TrieNodes, state: LexerState, borrowed: BorrowedWalk | null): PartWalk {
    const { byteOf, depthOf, endOf, tokens, tokensBefore, oddFrom, nodeCount } = nodes;
    const automaton = this.#automaton;
    const path = this.#path;
    const borrowedPath = this.#borrowedPath;
    const allowed = new TokenRuns(tokens);
    const exits: number[] = [];
    const gaps: number[] = [];
    let borrowedTo = 0;
    let visited = 0;
    path[0] = state;
    borrowedPath[0] = borrowed?.state ?? deadState;
    for (let node = 1; node < nodeCount;) {
      visited += 1;
      const end = endOf[node];
      const byte = byteOf[node];
      const depth = depthOf[node];
      const before = path[depth - 1];
      if (oddFrom[node] > node && this.#steps.isFree(before)) {
        // Each harmless byte leads back to this state. The walk skips such bytes, up to the next byte of another kind.
        const next = Math.min(oddFrom[node], end);
        allowed.add(tokensBefore[node], tokensBefore[next]);
        if (next < end) {
          path.fill(before, depth, depthOf[next]);
          // The walk skips nodes here without computing the borrowed path, so it borrows nothing below them.
          borrowedPath.fill(deadState, depth, depthOf[next]);
        }
        node = next;
        continue;
      }
      const after = automaton.next(before, byte);
      if (after === deadState) {
        node = end;
        continue;
      }
      path[depth] = after;
      borrowedPath[depth] = borrowed === null ? deadState : automaton.next(borrowedPath[depth - 1], byte);
      // Both paths have reached the same state, so both walks have equal results for the subtree, and the results are
      // borrowed. `after` is not dead here, so neither is the equal state.
      const isSame = after === borrowedPath[depth];
      const isAll = !isSame && this.#takesAllBelow(nodes, node, path);
      if (isSame || (isAll && borrowed !== null && this.#takesAllBelow(nodes, node, borrowedPath))) {
        if (tokensBefore[node] > borrowedTo) gaps.push(borrowedTo, tokensBefore[node]);
        borrowedTo = tokensBefore[end];
        node = end;
        continue;
      }
      if (isAll) {
        allowed.add(tokensBefore[node], tokensBefore[end]);
        node = end;
        continue;
      }
      // Only the borrowed walk's lexeme may end here. Borrowing below this node would allow tails after an exit that
      // this walk's lexeme does not have.
      if (automaton.isAccepting[borrowedPath[depth]] && !automaton.isAccepting[after])
        borrowedPath[depth] = deadState;
      allowed.add(tokensBefore[node], tokensBefore[node + 1]);
      if (automaton.isAccepting[after] && end > node + 1) exits.push(node);
      node += 1;
    }
    if (tokens.length > borrowedTo) gaps.push(borrowedTo, tokens.length);
    this.#budget.spend(visited >>> 7);
    return { allowed, tops: Int32Array.from(exits), gaps };
  }

  /**
   * True if all tokens below the node are harmless and the lexeme certainly accepts them; may be false even if the
   * lexeme accepts them.
   */
  #takesAllBelow({ byteOf, depthOf, heightOf }: TrieNodes, node: number, path: Int32Array): boolean {
    const height = heightOf[node];
    if (height > harmlessLengthMax) return false;
    const steps = this.#steps;
    const depth = depthOf[node];
    if (isLead(byteOf[node])) return steps.reach(steps.afterSeveralBytes(path[depth - 1])) >= height;
    // Below a node within a character, all children are within that character too, so checking the first one suffices.
    // `reach` counts complete characters, so it does not apply to such a node.
    return !isWithinCharacter(byteOf[node + 1]) && steps.reach(path[depth]) >= height;
  }

  #withBorrowed(
    { bits: borrowedBits, tails }: BorrowedWalk,
    { harmless, others }: { readonly harmless: PartWalk; readonly others: PartWalk },
    exits: readonly Exits[],
  ): LexemeWalk {
    const bits = borrowedBits.slice();
    const excluded = new Set<number>();
    const leaveOut = (tokens: Int32Array, gaps: readonly number[]): void => {
      for (let gap = 0; gap < gaps.length; gap += 2)
        for (let at = gaps[gap]; at < gaps[gap + 1]; at++) {
          bits[tokens[at] >>> 5] &= ~(1 << (tokens[at] & 31));
          if (tails.has(tokens[at])) excluded.add(tokens[at]);
        }
    };
    leaveOut(this.#trie.harmless.tokens, harmless.gaps);
    leaveOut(this.#trie.others.tokens, others.gaps);
    harmless.allowed.setIn(bits);
    others.allowed.setIn(bits);
    const byteLength = bits.byteLength + bytesOfExits(exits) + excluded.size * bytesPerExcluded;
    return { tokens: { bits }, exits, tails: { tails, excluded }, byteLength };
  }

  #allowed(parts: { readonly harmless: PartWalk; readonly others: PartWalk }): LexemeWalk["tokens"] {
    const { harmlessBits } = this.#trie;
    const harmless = parts.harmless.allowed;
    const others = parts.others.allowed;
    const count = harmless.count + others.count;
    if (count < harmlessBits.length) {
      const ids = new Int32Array(count);
      harmless.copyTo(ids, 0);
      others.copyTo(ids, harmless.count);
      return { ids };
    }
    // Starts from a full or an empty mask, whichever needs fewer changes.
    const startsFull = harmless.count * 2 > this.#trie.harmless.tokens.length;
    const bits = startsFull ? harmlessBits.slice() : new Uint32Array(harmlessBits.length);
    if (startsFull) harmless.clearOthers(bits);
    else harmless.setIn(bits);
    others.setIn(bits);
    return { bits };
  }
}

const noTokens: ReadonlySet<number> = new Set();

/** Measured memory in bytes of a token in a set of excluded tokens. */
const bytesPerExcluded = 40;

const bytesOf = (tokens: LexemeWalk["tokens"]): number =>
  "ids" in tokens ? tokens.ids.byteLength : tokens.bits.byteLength;

const bytesOfExits = (exits: readonly Exits[]): number =>
  exits.reduce((bytes, { tops }) => bytes + tops.byteLength, 0);
