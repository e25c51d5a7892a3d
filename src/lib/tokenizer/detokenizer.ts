// Converts a sequence of tokens to text incrementally, and returns only text that later tokens cannot change. It works
// on bytes: a character whose bytes are spread over several tokens is returned with the token that completes it.
import type { Tokenizer } from "./tokenizer.ts";

export interface Detokenizer {
  /** Takes the next token. Returns the text that became final with it; empty while a character is incomplete. */
  push(id: number): string;
  /** Returns what `push` would return, without taking the token. */
  peek(id: number): string;
  /** Returns the remaining text at the end: empty, or U+FFFD for an incomplete character. */
  flush(): string;
}

/**
 * Starts a sequence. The joined results of all pushes and of the flush equal `tokenizer.decode` of the ids, without
 * hidden ids.
 */
export function createDetokenizer(
  tokenizer: Pick<Tokenizer, "tokenBytes">,
  options: { readonly isHidden: (id: number) => boolean },
): Detokenizer {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let pending: Uint8Array = new Uint8Array();

  const advance = (id: number): { readonly text: string; readonly rest: Uint8Array } => {
    if (options.isHidden(id)) return { text: "", rest: pending };
    const own = tokenizer.tokenBytes(id);
    const bytes = pending.length === 0 ? own : Buffer.concat([pending, own]);
    const length = completeLength(bytes);
    return { text: decoder.decode(bytes.subarray(0, length)), rest: bytes.subarray(length) };
  };
  return {
    push: (id) => {
      const { text, rest } = advance(id);
      pending = rest;
      return text;
    },
    peek: (id) => advance(id).text,
    flush: () => {
      const text = decoder.decode(pending);
      pending = new Uint8Array();
      return text;
    },
  };
}

/**
 * Returns the length of the longest prefix that does not end inside a character which later bytes may still complete.
 * At most three bytes remain. Invalid bytes count as complete, because they decode to U+FFFD regardless of later
 * bytes.
 */
export function completeLength(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if (isContinuation(byte)) continue;
    const second = back > 1 ? bytes[bytes.length - back + 1] : null;
    const waits = characterLength(byte) > back && (second === null || fitsAfter(byte, second));
    return waits ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Returns the number of bytes in a character with this first byte; 1 for bytes that cannot begin a character. */
function characterLength(first: number): number {
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  if (first >= 0xf0 && first <= 0xf4) return 4;
  return 1;
}

/**
 * True if `second` may follow `first`. Four first bytes restrict the second (RFC 3629, section 4), which excludes
 * overlong forms, surrogates, and characters beyond U+10FFFF.
 */
function fitsAfter(first: number, second: number): boolean {
  if (first === 0xe0) return second >= 0xa0;
  if (first === 0xed) return second <= 0x9f;
  if (first === 0xf0) return second >= 0x90;
  if (first === 0xf4) return second <= 0x8f;
  return true;
}
