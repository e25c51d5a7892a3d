// Splits input from a terminal or a pipe into keys: letters unchanged, other keys by name.

/** A typed grapheme, or the name of a key that types no text. */
export type Key = string;

const escapes: Readonly<Record<string, Key>> = {
  A: "up",
  B: "down",
  "5~": "page-up",
  "6~": "page-down",
};
const controls: Readonly<Record<string, Key>> = {
  "\r": "enter",
  "\n": "enter",
  "\u007f": "backspace",
  "\b": "backspace",
  "\u001b": "escape",
  // Ctrl-C and Ctrl-D. They arrive as input, because raw mode disables their usual effect.
  "\u0003": "interrupt",
  "\u0004": "interrupt",
};
const escape = "\u001b";
const parts = new RegExp(`${escape}\\[([\\d;]*[A-Za-z~])|[^]`, "gu");
const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Returns the keys in a chunk of input, in order. */
export function keysIn(text: string): readonly Key[] {
  const keys: Key[] = [];
  let written = "";
  const flush = (): void => {
    for (const { segment } of segmenter.segment(written)) keys.push(segment);
    written = "";
  };
  for (const [part, code] of text.matchAll(parts)) {
    const key = code === undefined ? controls[part] : escapes[code];
    if (code === undefined && key === undefined) {
      written += part;
      continue;
    }
    flush();
    if (key !== undefined) keys.push(key);
  }
  flush();
  return keys;
}

/** Yields keys as they are pressed. Puts a terminal into raw mode, and restores its mode at the end. */
export async function* keysOf(input: NodeJS.ReadStream): AsyncGenerator<Key> {
  const isRaw = input.isTTY;
  if (isRaw) input.setRawMode(true);
  input.setEncoding("utf8");
  try {
    // Safe cast: a stream with an encoding yields strings.
    for await (const text of input as AsyncIterable<string>) yield* keysIn(text);
  } finally {
    if (isRaw) input.setRawMode(false);
    input.pause();
  }
}
