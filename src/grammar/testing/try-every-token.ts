// The naive twin of the masks: every token is tried for itself, byte after byte, with no trie, walk or cache.
import type { Language } from "../language.ts";
import { deadParser } from "../parser/machine.ts";
import type { TokenTrie } from "../trie/token-trie.ts";

/** The ids of the tokens that the text so far may go on with, in order. */
export function allowedByTrying(language: Language, trie: TokenTrie, sofar: Uint8Array): readonly number[] {
  const { machine, start, budget } = language;
  let state = start;
  for (const byte of sofar) state = machine.next(state, byte);
  return trie.bytesOf.flatMap((bytes, id) => {
    if (bytes === null) return [];
    budget.restart("compileSteps");
    let after = state;
    for (const byte of bytes) after = machine.next(after, byte);
    return after === deadParser ? [] : [id];
  });
}

/** The ids whose bits are set, in order. */
export function idsOf(mask: Uint32Array): readonly number[] {
  return Array.from(mask).flatMap((word, index) =>
    Array.from({ length: 32 }, (_, bit) => index * 32 + bit).filter((id) => ((word >>> (id % 32)) & 1) === 1),
  );
}
