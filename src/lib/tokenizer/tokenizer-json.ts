// The parts of a tokenizer.json that Hone interprets itself: the decoder, for the bytes of each token, and the
// pre_tokenizer, rewritten for the vendored encoder. Supports decoders that give tokens fixed bytes (byte-level BPE,
// and SentencePiece's blanks with byte fallback) and refuses others.
import { ServiceError } from "../../base/domain/service-error.ts";

/** Converts a token to its bytes; `isAdded` is true for an added token, whose spelling is plain text. */
export type TokenDecoder = (token: string, options?: { readonly isAdded: boolean }) => Uint8Array;

/** One step of a decoder or pre-tokenizer in tokenizer.json. */
type Step = Readonly<Record<string, unknown>>;

const encoder = new TextEncoder();

/**
 * Builds the decoder that a tokenizer.json describes. Some decoders strip a blank from the start of a text. Here that
 * blank is kept, because a decoded text always continues a prompt.
 */
export function createTokenDecoder(description: unknown): TokenDecoder {
  const steps = flatten(description);
  if (steps.some((step) => step.type === "ByteLevel")) return byteLevelDecoder;
  const replacements: (readonly [string, string])[] = [];
  let hasByteFallback = false;
  for (const step of steps) {
    switch (step.type) {
      case "Replace":
        replacements.push([replacedText(step), typeof step.content === "string" ? step.content : ""]);
        break;
      case "Metaspace":
        replacements.push([typeof step.replacement === "string" ? step.replacement : "\u2581", " "]);
        break;
      case "ByteFallback":
        hasByteFallback = true;
        break;
      case "Fuse":
      case "Strip":
        break;
      default:
        throw unsupported(String(step.type));
    }
  }
  return (token) => {
    const fallback = hasByteFallback ? /^<0x([0-9A-Fa-f]{2})>$/.exec(token) : null;
    if (fallback) return Uint8Array.of(Number.parseInt(fallback[1], 16));
    return encoder.encode(replacements.reduce((text, [from, to]) => text.replaceAll(from, to), token));
  };
}

function flatten(description: unknown): readonly Step[] {
  if (typeof description !== "object" || description === null) throw unsupported("none");
  const step = { ...description } as Step;
  return step.type === "Sequence" && Array.isArray(step.decoders) ? step.decoders.flatMap(flatten) : [step];
}

function replacedText(step: Step): string {
  const { pattern } = step;
  if (
    typeof pattern === "object" &&
    pattern !== null &&
    "String" in pattern &&
    typeof pattern.String === "string"
  )
    return pattern.String;
  throw unsupported("Replace with a regular expression");
}

function unsupported(type: string): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message: `tokenizer.json has the decoder ${type}; supported are ByteLevel, Metaspace, Replace, ByteFallback, Fuse, Strip and sequences of them.`,
  });
}

/**
 * Decodes a byte-level token. A token that contains a character outside the byte alphabet decodes to its own text, as
 * in the reference implementation.
 */
function byteLevelDecoder(token: string, options?: { readonly isAdded: boolean }): Uint8Array {
  if (options?.isAdded === true) return encoder.encode(token);
  // Each character of the token is one code unit. Written as a loop for speed, because startup decodes all tokens of a
  // vocabulary.
  const bytes = new Uint8Array(token.length);
  for (let at = 0; at < token.length; at++) {
    const byte = byteOfCode[token.charCodeAt(at)] ?? -1;
    if (byte < 0) return encoder.encode(token);
    bytes[at] = byte;
  }
  return bytes;
}

/**
 * GPT-2's alphabet, from code unit to byte; -1 for characters outside the alphabet. Printable Latin-1 characters stand
 * for their own bytes, and characters from U+0100 for all other bytes.
 */
const byteOfCode: Int16Array = (() => {
  const alphabet = new Int16Array(0x200).fill(-1);
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const isPrintable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    alphabet[isPrintable ? byte : next++] = byte;
  }
  return alphabet;
})();

/** GPT-2's pattern for splitting texts. Here, `\s` is Unicode's White_Space, which includes U+0085 but not U+FEFF. */
const gpt2Pieces = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

/**
 * Rewrites a pre_tokenizer so that the vendored encoder splits like the reference implementation. Changes only regular
 * expressions for blanks, digits and letters of either case.
 */
export function exactSplits(preTokenizer: unknown): unknown {
  if (typeof preTokenizer !== "object" || preTokenizer === null) return preTokenizer;
  const step = { ...preTokenizer } as Step;
  switch (step.type) {
    case "Sequence":
      return Array.isArray(step.pretokenizers)
        ? { ...step, pretokenizers: step.pretokenizers.map(exactSplits) }
        : step;
    case "Split":
      return { ...step, pattern: withFoldedLetters(step.pattern) };
    case "Digits":
      return isolated(step.individual_digits === true ? String.raw`\p{N}` : String.raw`\p{N}+`);
    case "ByteLevel":
      // A blank that is added before the text belongs to the first piece, so it must be added before the text is
      // split.
      if (step.use_regex === false || step.add_prefix_space === true) return step;
      return { type: "Sequence", pretokenizers: [isolated(gpt2Pieces), { ...step, use_regex: false }] };
    default:
      return step;
  }
}

/** Two letters beyond ASCII are case variants of ASCII letters: the long s and the kelvin sign. */
function withFoldedLetters(pattern: unknown): unknown {
  if (typeof pattern !== "object" || pattern === null || !("Regex" in pattern)) return pattern;
  if (typeof pattern.Regex !== "string") return pattern;
  const folded = (group: string): string =>
    group.replaceAll(/(?<!\\)s/gi, "[s\u017f]").replaceAll(/(?<!\\)k/gi, "[k\u212a]");
  return { Regex: pattern.Regex.replaceAll(/\(\?i:[^()[\]]*\)/g, folded) };
}

function isolated(expression: string): Step {
  return { type: "Split", pattern: { Regex: expression }, behavior: "Isolated", invert: false };
}
