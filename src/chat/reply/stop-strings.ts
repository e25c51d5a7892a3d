// Ends a text at a stop string, and shows nothing that might turn out to be the beginning of one. Knows no tokens; fed
// with one token's text at a time, its answer does not depend on how tokens arrive.

export interface StopScanner {
  /** Takes new text; returns what may be shown, and the stop string that ended the text, if one did. Not to be called after that. */
  push(text: string): { readonly text: string; readonly matched: string | null };
  /** What was held back, when the text ends for another reason. */
  flush(): string;
}

/**
 * The first stop string of the list that new text completes wins, not the one that begins earliest; the text is cut
 * before it. The last (longest stop string - 1) characters are held back.
 *
 * @param stops none of them empty
 */
export function createStopScanner(stops: readonly string[]): StopScanner {
  const holdLength = stops.reduce((longest, stop) => Math.max(longest, stop.length - 1), 0);
  let held = "";
  return {
    push: (text) => {
      const window = held + text;
      for (const stop of stops) {
        // What was held before cannot hold a whole match, so only one that ends in the new text is found.
        const at = window.indexOf(stop, Math.max(0, held.length - stop.length + 1));
        if (at >= 0) {
          held = "";
          return { text: window.slice(0, at), matched: stop };
        }
      }
      const cut = safeCut(window, window.length - holdLength);
      held = window.slice(cut);
      return { text: window.slice(0, cut), matched: null };
    },
    flush: () => {
      const rest = held;
      held = "";
      return rest;
    },
  };
}

/** Never between the halves of a surrogate pair: half a character cannot be sent. */
function safeCut(text: string, cut: number): number {
  if (cut <= 0) return 0;
  const splitsPair = cut < text.length && /[\ud800-\udbff]/.test(text[cut - 1]);
  return splitsPair ? cut - 1 : cut;
}
