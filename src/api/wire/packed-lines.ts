// Lines of text packed into buffers, which pass from thread to thread without being copied.

/** Each holds whole lines, with a line feed between them; together they hold all lines in order. */
export type PackedLines = readonly Uint8Array<ArrayBuffer>[];

/** A buffer is closed once it has so many characters. */
const packLengthMin = 1 << 18;

export class LinePacker {
  readonly #packs: Uint8Array<ArrayBuffer>[] = [];
  readonly #encoder = new TextEncoder();
  #open: string[] = [];
  #length = 0;

  /** @param line holds no line feed, as JSON without blanks does */
  add(line: string): void {
    this.#open.push(line);
    this.#length += line.length;
    if (this.#length >= packLengthMin) this.#close();
  }

  packed(): PackedLines {
    this.#close();
    return this.#packs;
  }

  #close(): void {
    if (this.#open.length === 0) return;
    this.#packs.push(this.#encoder.encode(this.#open.join("\n")));
    this.#open = [];
    this.#length = 0;
  }
}

/** The lines, decoded a pack at a time; can be read more than once. */
export function linesIn(packs: PackedLines): Iterable<string> {
  return {
    *[Symbol.iterator]() {
      const decoder = new TextDecoder();
      for (const pack of packs) yield* decoder.decode(pack).split("\n");
    },
  };
}
