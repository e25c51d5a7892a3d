// Text of a growing sequence of tokens, as far as it is certain. Works on bytes: a character whose bytes are
// spread over several tokens appears with the token that completes it.
import { completeLength } from "./utf8-boundary.ts";
import type { Tokenizer } from "./tokenizer.ts";

export interface Detokenizer {
  /** Takes the next token and returns the text that became certain; empty while a character is incomplete. */
  push(id: number): string;
  /** What `push` would return, without taking the token. */
  peek(id: number): string;
  /** The text of what is left at the end: empty, or U+FFFD for a character that was never completed. */
  flush(): string;
}

/**
 * Starts a sequence. The texts of all pushes and the flush, joined, are `tokenizer.decode` of the ids that are not hidden.
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
