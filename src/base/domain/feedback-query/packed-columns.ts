// Records of a batch column by column: for each field the texts of all records, one behind the other. A text is its length in
// bytes as four bytes, big-endian, and then UTF-8; -1 alone stands for null.

const lengthBytes = 4;
/** UTF-8 has at most so many bytes for each unit of UTF-16. */
const bytesPerUnit = 3;
const firstBytes = 1 << 12;

export class ColumnWriter {
  readonly #encoder = new TextEncoder();
  #bytes = new Uint8Array(firstBytes);
  #view = new DataView(this.#bytes.buffer);
  #end = 0;

  add(text: string | null): void {
    this.#makeRoom(lengthBytes + (text === null ? 0 : text.length * bytesPerUnit));
    const start = this.#end + lengthBytes;
    const length = text === null ? -1 : this.#encoder.encodeInto(text, this.#bytes.subarray(start)).written;
    this.#view.setInt32(this.#end, length);
    this.#end = start + Math.max(length, 0);
  }

  /** What was added since it was asked last. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.slice(0, this.#end);
    this.#end = 0;
    return taken;
  }

  #makeRoom(byteCount: number): void {
    if (this.#end + byteCount <= this.#bytes.length) return;
    const bytes = new Uint8Array(2 * (this.#end + byteCount));
    bytes.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
}

/** The texts of a column, in order. */
export function* textsIn(column: Uint8Array): Generator<string | null, void> {
  const decoder = new TextDecoder();
  const view = new DataView(column.buffer, column.byteOffset, column.length);
  for (let at = 0; at < column.length;) {
    const length = view.getInt32(at);
    const start = at + lengthBytes;
    at = start + Math.max(length, 0);
    yield length < 0 ? null : decoder.decode(column.subarray(start, at));
  }
}
