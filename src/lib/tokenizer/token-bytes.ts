// The bytes each token stands for, read from the decoder part of a tokenizer.json. Handles the decoders whose tokens
// each stand for fixed bytes (byte-level BPE, and SentencePiece's blanks with byte fallback); refuses the others.
import { ServiceError } from "../../base/domain/service-error.ts";

/** Turns a token into its bytes; `isAdded` says that it is not of the vocabulary but was added to it, in its own spelling. */
export type TokenDecoder = (token: string, options?: { readonly isAdded: boolean }) => Uint8Array;

const encoder = new TextEncoder();

/**
 * Builds the decoder that a tokenizer.json describes.
 *
 * A leading blank that some decoders strip from the start of a text is kept: text here always continues a prompt.
 *
 * @param description the `decoder` value of the file
 * @throws ServiceError `unsupported`, naming the decoder
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

type Step = Readonly<Record<string, unknown>>;

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

/** A token with a character outside the byte alphabet stands for itself, as in the reference implementation. */
function byteLevelDecoder(token: string, options?: { readonly isAdded: boolean }): Uint8Array {
  if (options?.isAdded === true) return encoder.encode(token);
  // Each of its characters is one code unit, and all tokens of a vocabulary are decoded at a start.
  const bytes = new Uint8Array(token.length);
  for (let at = 0; at < token.length; at++) {
    const byte = byteOfCode[token.charCodeAt(at)] ?? -1;
    if (byte < 0) return encoder.encode(token);
    bytes[at] = byte;
  }
  return bytes;
}

/** GPT-2's alphabet: printable Latin-1 stands for itself, every other byte for a character from U+0100 on; -1 for none. */
const byteOfCode: Int16Array = (() => {
  const alphabet = new Int16Array(0x200).fill(-1);
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const isPrintable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    alphabet[isPrintable ? byte : next++] = byte;
  }
  return alphabet;
})();
