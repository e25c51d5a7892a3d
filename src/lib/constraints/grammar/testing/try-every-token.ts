// Naive reference for masks: tries each token separately, byte by byte, without a trie, a walk or a cache.
import type { Language } from "../language.ts";
import type { TokenTrie } from "../trie/token-trie.ts";
import { EarleyMatcher, Place } from "./earley-matcher.ts";

/** Tries tokens after a common text. */
export class TokenTrial {
  readonly #matcher: EarleyMatcher;
  readonly #budget: Language["budget"];
  readonly #place: Place;
  /**
   * For each byte, the position after the common text and this byte. Cached because most tokens are already refused
   * there.
   */
  readonly #behind: (Place | undefined)[] = [];

  constructor(language: Language, sofar: Uint8Array) {
    this.#matcher = new EarleyMatcher(language);
    this.#budget = language.budget;
    this.#place = this.#read(this.#matcher.start(), sofar);
  }

  get mayEnd(): boolean {
    return this.#place.mayEnd;
  }

  /** True if some valid text begins with the common text followed by these bytes. */
  allows(bytes: Uint8Array): boolean {
    const behind = (this.#behind[bytes[0]] ??= this.#read(this.#place, bytes.subarray(0, 1)));
    return this.#matcher.isAlive(this.#read(behind, bytes.subarray(1)));
  }

  #read(before: Place, bytes: Uint8Array): Place {
    let place = before;
    this.#budget.restart("compileSteps");
    for (const byte of bytes) {
      if (place.ways.length === 0) return new Place();
      place = this.#matcher.after(place, byte);
    }
    return place;
  }
}

/** Returns the ids of the tokens that may follow the text so far, in ascending order. */
export function allowedByTrying(
  language: Language,
  { bytesOf }: Pick<TokenTrie, "bytesOf">,
  sofar: Uint8Array,
): readonly number[] {
  const trial = new TokenTrial(language, sofar);
  return bytesOf.flatMap((bytes, id) => (bytes !== null && trial.allows(bytes) ? [id] : []));
}

/** Returns the ids whose bits are set in the mask, in ascending order. */
export function idsOf(mask: Uint32Array): readonly number[] {
  const ids: number[] = [];
  for (const [word, bits] of mask.entries())
    for (let left = bits; left !== 0; left &= left - 1) ids.push(word * 32 + 31 - Math.clz32(left & -left));
  return ids;
}
