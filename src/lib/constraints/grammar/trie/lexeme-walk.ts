// Walks the token trie from a lexer state: the tokens that stay within the lexeme, and the nodes at which it may end.
// Independent of the grammar around it, and most of a mask inside a string, so it is cached. If most text leads to a
// common state, as for names that differ from some list, the walk borrows from that state's walk.
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
  /** The tokens that the lexeme may continue or end with: a bit mask, or ids if they are few. */
  readonly tokens: { readonly bits: Uint32Array } | { readonly ids: Int32Array };
  readonly exits: readonly Exits[];
  /** Continuations after further exits, as one tree. */
  readonly tails: BorrowedTails | null;
  readonly byteLength: number;
}

export interface BorrowedTails {
  readonly tails: Tails;
  /** Tokens of the borrowed tails that are not valid here. */
  readonly excluded: ReadonlySet<number>;
}

/** The walk of a state that most harmless text leads to and stays in. */
interface BorrowedWalk {
  readonly state: LexerState;
  readonly bits: Uint32Array;
  readonly tails: Tails;
}

interface PartWalk {
  readonly allowed: TokenRuns;
  readonly tops: Int32Array;
  /** Ranges of the token list that are not borrowed, as start and end. */
  readonly gaps: readonly number[];
}

export class LexemeWalker {
  readonly #automaton: Automaton;
  readonly #steps: HarmlessSteps;
  readonly #trie: TokenTrie;
  readonly #budget: StepBudget;
  /** Lexer state at each depth of the current path. */
  readonly #path: Int32Array;
  /** Lexer state there, starting from the borrowed state. */
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
   * Returns the walk of a state that most text leads to; null if text does not stay there, or its tails are not
   * listed.
   */
  #borrowFrom(lender: LexerState, walkOf: (state: LexerState) => LexemeWalk): BorrowedWalk | null {
    if (lender === deadState || this.#majorityState(lender) !== lender) return null;
    const { tokens, tails } = walkOf(lender);
    return "bits" in tokens && tails !== null
      ? { state: lender, bits: tokens.bits, tails: tails.tails }
      : null;
  }

  /** Returns the state that most harmless bytes lead to; dead if there is none. */
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

  /** Finds the tokens that the lexeme accepts from the state, and the nodes at which it may end. */
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
        // All harmless text leads back to this state, so skips to the next byte that is not harmless.
        const next = Math.min(oddFrom[node], end);
        allowed.add(tokensBefore[node], tokensBefore[next]);
        if (next < end) {
          path.fill(before, depth, depthOf[next]);
          // Nothing below is borrowed.
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
      // While both states agree from here on, the borrowed walk applies. This state is not dead, so the other is not
      // either.
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
      // If only the other state may end here, its tails below would be taken for this state's.
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

  /** True if the lexeme surely accepts all tokens below a node, which are harmless text. */
  #takesAllBelow({ byteOf, depthOf, heightOf }: TrieNodes, node: number, path: Int32Array): boolean {
    const height = heightOf[node];
    if (height > harmlessLengthMax) return false;
    const steps = this.#steps;
    const depth = depthOf[node];
    if (isLead(byteOf[node])) return steps.reach(steps.afterSeveralBytes(path[depth - 1])) >= height;
    // A node within a character has only children within it.
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
    // Sets or clears bits, whichever are fewer.
    const startsFull = harmless.count * 2 > this.#trie.harmless.tokens.length;
    const bits = startsFull ? harmlessBits.slice() : new Uint32Array(harmlessBits.length);
    if (startsFull) harmless.clearOthers(bits);
    else harmless.setIn(bits);
    others.setIn(bits);
    return { bits };
  }
}

const noTokens: ReadonlySet<number> = new Set();

/** Measured: an entry of a set. */
const bytesPerExcluded = 40;

const bytesOf = (tokens: LexemeWalk["tokens"]): number =>
  "ids" in tokens ? tokens.ids.byteLength : tokens.bits.byteLength;

const bytesOfExits = (exits: readonly Exits[]): number =>
  exits.reduce((bytes, { tops }) => bytes + tops.byteLength, 0);
