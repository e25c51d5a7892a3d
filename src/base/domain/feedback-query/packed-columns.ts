// Records of a batch as columns: for each field, the texts of all records one after the other. Each text is its length
// in bytes (four bytes, big-endian), followed by its UTF-8. The length -1 means null.

const lengthBytes = 4;
/** Maximum number of bytes that a UTF-16 code unit takes in UTF-8. */
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

  /** Returns the bytes that were added since the last call. */
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

/** Yields the texts of a column in order. */
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
