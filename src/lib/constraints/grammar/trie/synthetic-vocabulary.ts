// Synthetic vocabularies of any size, grown from a small real one, with the same kinds of tokens as current models.
// - Latin words extend shorter ones, as byte-pair merges do, with and without a leading blank and a capital letter. A
//   quarter of the tokens are words of other scripts, some cut within a character.
// - The rest are numbers of up to three digits, runs of blanks, indented line breaks, punctuation, JSON delimiters and
//   pieces of code.
// - The share of each kind is estimated from vocabularies of 128,000 tokens. A synthetic vocabulary has more trie
//   nodes per token than these, because its words are random.
import { seededRandom } from "../../../../base/domain/random.ts";

/**
 * Returns `tokenCount` unique tokens: those of the seed, all single bytes, and generated ones. The same seed always
 * gives the same tokens.
 */
export function syntheticVocabulary(
  seed: readonly (Uint8Array | null)[],
  tokenCount: number,
): readonly (Uint8Array | null)[] {
  const grown = [...seed];
  // Decoding as Latin-1 distinguishes all byte sequences, even those that are not valid UTF-8.
  const known = new Set(seed.map((token) => (token === null ? "" : latin(token))));
  const add = (token: Uint8Array): void => {
    const key = latin(token);
    if (known.has(key) || grown.length >= tokenCount) return;
    known.add(key);
    grown.push(token);
  };
  for (let byte = 0; byte < 256; byte++) add(Uint8Array.of(byte));
  const growth = new Growth(seed);
  while (grown.length < tokenCount) add(growth.token());
  return grown;
}

const encoder = new TextEncoder();
const latin = (token: Uint8Array): string => Buffer.from(token).toString("latin1");

const signs = Array.from("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~");
const jsonSeams = ['{"', '":"', '": "', '":', '": ', '","', '", "', '",', '"},{"', '"}', "},", "}}", "]}"];
const moreJsonSeams = [
  '":{"',
  '":["',
  '":[',
  '"],"',
  '"]',
  "},{",
  "[]",
  "{}",
  '":[{"',
  '"}],"',
  '\\"',
  "\\n",
];
const seams = [...jsonSeams, ...moreJsonSeams, "\\u00", "\\u", "null", "true", "false", '":null', '":true,"'];

/**
 * Character ranges of scripts, each with its frequency; `hasBlanks` is true if the script separates words by blanks.
 */
const scripts = [
  { first: 0x430, last: 0x44f, weight: 8, hasBlanks: true },
  { first: 0x4e00, last: 0x9fff, weight: 8, hasBlanks: false },
  { first: 0xac00, last: 0xd7a3, weight: 4, hasBlanks: true },
  { first: 0x3041, last: 0x30fe, weight: 3, hasBlanks: false },
  { first: 0x621, last: 0x64a, weight: 3, hasBlanks: true },
  { first: 0xdf, last: 0xff, weight: 3, hasBlanks: true },
  { first: 0x904, last: 0x939, weight: 2, hasBlanks: true },
  { first: 0xe01, last: 0xe3a, weight: 2, hasBlanks: false },
  { first: 0x3b1, last: 0x3c9, weight: 2, hasBlanks: true },
  { first: 0x1f300, last: 0x1f64f, weight: 1, hasBlanks: false },
].flatMap((script) => Array.from({ length: script.weight }, () => script));

class Growth {
  readonly #random = seededRandom("a grown vocabulary");
  readonly #syllables: readonly string[];
  readonly #words: string[];

  constructor(seed: readonly (Uint8Array | null)[]) {
    const words = seed.flatMap((token) =>
      token === null ? [] : (/^ ?([a-z]+)$/.exec(latin(token))?.[1] ?? []),
    );
    this.#words = [...new Set(words)];
    this.#syllables = [...new Set(words.flatMap((word) => word.match(/.{1,2}/g) ?? []))];
  }

  token(): Uint8Array {
    const kind = this.#random.index(100);
    if (kind < 55) return encoder.encode(this.#latinWord());
    if (kind < 82) return this.#foreignWord();
    return encoder.encode(kind < 92 ? this.#code() : this.#layout(kind));
  }

  #latinWord(): string {
    const word = this.#word();
    const capital = word.charAt(0).toUpperCase() + word.slice(1);
    return this.#one([` ${word}`, ` ${word}`, ` ${capital}`, word, capital]);
  }

  /** Returns a known word (more often an early one), or a new word that extends one. */
  #word(): string {
    const known = this.#words[Math.floor(this.#words.length * this.#random.uniform() ** 2)];
    if (known.length > 9 || this.#random.index(4) === 0) return known;
    const word = known + this.#one(this.#syllables);
    this.#words.push(word);
    return word;
  }

  #foreignWord(): Uint8Array {
    const { first, last, hasBlanks } = this.#one(scripts);
    const letters = Array.from({ length: 1 + this.#random.index(hasBlanks ? 5 : 2) }, () =>
      // Draws the letters at the beginning of a script's range more often, which is realistic enough for random words.
      String.fromCodePoint(first + Math.floor((last - first + 1) * this.#random.uniform() ** 2)),
    );
    const word = encoder.encode((hasBlanks && this.#random.index(2) === 0 ? " " : "") + letters.join(""));
    // Byte-level merges also produce tokens that end within a character.
    return this.#random.index(12) === 0 ? word.subarray(0, word.length - 1) : word;
  }

  #code(): string {
    const word = this.#word();
    const sign = this.#one(signs);
    const other = this.#one(signs);
    return this.#one([
      sign + word,
      sign + word,
      sign + other,
      sign + other + this.#one(signs),
      ` ${sign}`,
      ` ${sign}${other}`,
      `${sign}\n`,
      `${word}${sign}`,
      `"${word}`,
      `"${word}":`,
      `${word}":`,
      `_${word}`,
    ]);
  }

  #layout(kind: number): string {
    if (kind < 96) return String(this.#random.index(1_000)).padStart(1 + this.#random.index(3), "0");
    if (kind < 98) return this.#one(seams);
    const blanks = this.#one([" ", " ", "\t", "\n"]).repeat(1 + this.#random.index(80));
    return this.#one(["", "\n", "\r\n", "\n\n", ",\n"]) + blanks + this.#one(["", "", '"', "}"]);
  }

  #one<T>(values: readonly T[]): T {
    return values[this.#random.index(values.length)];
  }
}
