// The part of the protocol buffer wire format (proto3) that Hone's messages need: varints, doubles and length-delimited
// bytes. Decoding skips fields of four bytes.

const wireTypes = { varint: 0, eightBytes: 1, bytes: 2, fourBytes: 5 } as const;

/** Encodes a length-delimited field. A message is the concatenation of its fields. */
export function bytesField(field: number, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([varint((field << 3) | wireTypes.bytes), varint(bytes.length), bytes]);
}

export function textField(field: number, text: string): Uint8Array {
  return bytesField(field, Buffer.from(text));
}

/**
 * Encodes a varint field.
 *
 * @param value integer of at least 0 and less than 2^53; 0 means the same as an absent field
 */
export function numberField(field: number, value: number): Uint8Array {
  return Buffer.concat([varint((field << 3) | wireTypes.varint), varint(value)]);
}

/** Encodes a field of eight bytes with a double. */
export function doubleField(field: number, value: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([varint((field << 3) | wireTypes.eightBytes), bytes]);
}

/** Encodes an integer as a varint: seven bits per byte, the lowest bits first. */
export function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return Uint8Array.from([...bytes, rest]);
}

/** A decoded field of a message. */
export interface WireField {
  readonly number: number;
  /** Value of a varint field; 0 for another field. */
  readonly value: number;
  /** Bytes of a length-delimited field or of a field of eight bytes; empty for a varint field. */
  readonly bytes: Uint8Array;
}

/**
 * Yields the fields of a message in order, except fields of four bytes.
 *
 * @throws Error if the bytes are not a message
 */
export function* fieldsOf(message: Uint8Array): Generator<WireField, void> {
  let at = 0;
  const readVarint = (): number => {
    let value = 0;
    // A varint of 64 bits has at most ten bytes.
    for (let place = 0; place < 10; place++) {
      const byte = message[at++];
      if (byte === undefined) throw new Error("a message is cut off");
      value += (byte & 0x7f) * 2 ** (7 * place);
      if (byte < 0x80) return value;
    }
    throw new Error("a message has a varint without an end");
  };
  const take = (length: number): Uint8Array => {
    const bytes = message.subarray(at, at + length);
    if (bytes.length !== length) throw new Error("a message is cut off");
    at += length;
    return bytes;
  };
  while (at < message.length) {
    const tag = readVarint();
    const number = Math.floor(tag / 8);
    switch (tag % 8) {
      case wireTypes.varint:
        yield { number, value: readVarint(), bytes: new Uint8Array() };
        break;
      case wireTypes.bytes:
        yield { number, value: 0, bytes: take(readVarint()) };
        break;
      case wireTypes.eightBytes:
        yield { number, value: 0, bytes: take(8) };
        break;
      case wireTypes.fourBytes:
        take(4);
        break;
      default:
        throw new Error(`a message has a field of the unknown wire type ${tag % 8}`);
    }
  }
}

/** A decoded message, with its fields by number. */
export class WireMessage {
  readonly #fields = new Map<number, WireField[]>();

  /** @throws Error if the bytes are not a message */
  constructor(message: Uint8Array) {
    for (const field of fieldsOf(message)) {
      const earlier = this.#fields.get(field.number);
      if (earlier === undefined) this.#fields.set(field.number, [field]);
      else earlier.push(field);
    }
  }

  has(field: number): boolean {
    return this.#fields.has(field);
  }

  /** Returns the bytes of each occurrence of a repeated field. */
  all(field: number): readonly Uint8Array[] {
    return (this.#fields.get(field) ?? []).map(({ bytes }) => bytes);
  }

  /** Returns the bytes of the last occurrence, which is the one that counts if a field is repeated; empty if absent. */
  bytes(field: number): Uint8Array {
    return this.#fields.get(field)?.at(-1)?.bytes ?? new Uint8Array();
  }

  text(field: number): string {
    return Buffer.from(this.bytes(field)).toString();
  }

  /** Returns the value of a varint field; 0 if absent. */
  number(field: number): number {
    return this.#fields.get(field)?.at(-1)?.value ?? 0;
  }

  /** Returns the value of a field with a double; 0 if absent. */
  double(field: number): number {
    const bytes = this.bytes(field);
    return bytes.length === 8 ? Buffer.from(bytes).readDoubleLE() : 0;
  }
}
