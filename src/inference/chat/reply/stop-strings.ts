// Ends a text at a stop string, and shows nothing that might turn out to be the beginning of one. Knows no tokens; fed
// with one token's text at a time, its answer does not depend on how tokens arrive.
import { StopAutomaton, type StopState } from "./stop-automaton.ts";

export interface StopScanner {
  /**
   * Takes new text; returns what may be shown, and the stop string that ended the text, if one did. Not to be called after
   * that. A stop string that is completed where `mayEnd` is false is text like any other.
   */
  push(
    text: string,
    options: { readonly mayEnd: boolean },
  ): { readonly text: string; readonly matched: string | null };
  /** What was held back, when the text ends for another reason. */
  flush(): string;
}

export interface StopRule {
  /** None of them empty. */
  readonly stops: readonly string[];
  /** Cuts the text after the stop string instead of before it. */
  readonly includesStop: boolean;
}

/**
 * Makes scanners for any number of texts that one rule ends. The stop string that is completed first wins, then the one that
 * is listed first. Unless the stop string is shown too, the last (longest stop string - 1) characters are held back.
 */
export function stopScanners({ stops, includesStop }: StopRule): () => StopScanner {
  const longest = stops.reduce((count, stop) => Math.max(count, characterCount(stop)), 1);
  const options = { includesStop, heldCountMax: includesStop ? 0 : longest - 1 };
  // Half a character is in no text, though in the units of one.
  const automaton = new StopAutomaton(stops.filter((stop) => !/\p{Surrogate}/u.test(stop)));
  return () => createStopScanner(automaton, options);
}

function createStopScanner(
  automaton: StopAutomaton,
  { includesStop, heldCountMax }: { readonly includesStop: boolean; readonly heldCountMax: number },
): StopScanner {
  let state: StopState = automaton.start;
  let held = "";
  let heldCount = 0;
  return {
    push: (text, { mayEnd }) => {
      const all = held + text;
      for (let at = 0; at < text.length; at++) {
        state = automaton.advance(state, text.charCodeAt(at));
        if (state.completed === null || !mayEnd) continue;
        const matched = state.completed;
        const end = held.length + at + 1;
        held = "";
        return { text: all.slice(0, includesStop ? end : end - matched.length), matched };
      }
      const count = heldCount + characterCount(text);
      heldCount = Math.min(count, heldCountMax);
      const cut = lengthOf(all, count - heldCount);
      held = all.slice(cut);
      return { text: all.slice(0, cut), matched: null };
    },
    flush: () => {
      const rest = held;
      held = "";
      return rest;
    },
  };
}

function characterCount(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) if (!isLowSurrogate(text, at)) count += 1;
  return count;
}

/** Of so many first characters, in UTF-16 units. A surrogate pair is not cut, since its halves cannot be sent alone. */
function lengthOf(text: string, characters: number): number {
  let length = 0;
  for (let left = characters; left > 0; left--) length += isLowSurrogate(text, length + 1) ? 2 : 1;
  return length;
}

function isLowSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}
