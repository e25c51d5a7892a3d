// The part of the protocol buffer wire format (proto3) that Hone's messages need: varints and length-delimited bytes.
// Decoding skips fields of other wire types.

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
  /** Value of a varint field; 0 for a length-delimited field. */
  readonly value: number;
  /** Bytes of a length-delimited field; empty for a varint field. */
  readonly bytes: Uint8Array;
}

/**
 * Yields the fields of a message in order, except fields of fixed length.
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
        take(8);
        break;
      case wireTypes.fourBytes:
        take(4);
        break;
      default:
        throw new Error(`a message has a field of the unknown wire type ${tag % 8}`);
    }
  }
}
