// Protocol buffers' wire format (proto3), as far as two messages need it: varints, and bytes with their length. What else
// there may be in a message is passed over.

const wireTypes = { varint: 0, eightBytes: 1, bytes: 2, fourBytes: 5 } as const;

/** A field's bytes, to be joined with those of others. */
export function bytesField(field: number, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([varint((field << 3) | wireTypes.bytes), varint(bytes.length), bytes]);
}

export function textField(field: number, text: string): Uint8Array {
  return bytesField(field, Buffer.from(text));
}

/** @param value a whole number, at least 0 and below 2^53; 0 is what a field that is absent has */
export function numberField(field: number, value: number): Uint8Array {
  return Buffer.concat([varint((field << 3) | wireTypes.varint), varint(value)]);
}

/** Seven bits a byte, the lowest first. */
export function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return Uint8Array.from([...bytes, rest]);
}

/** One field as it lies in a message. */
export interface WireField {
  readonly number: number;
  /** Of a varint; 0 for bytes. */
  readonly value: number;
  /** Empty for a varint. */
  readonly bytes: Uint8Array;
}

/**
 * The fields of a message, in their order; those of fixed length are left out.
 *
 * @throws Error where the bytes are no message
 */
export function* fieldsOf(message: Uint8Array): Generator<WireField, void> {
  let at = 0;
  const readVarint = (): number => {
    let value = 0;
    // Ten bytes are the most that 64 bits take.
    for (let place = 0; place < 10; place++) {
      const byte = message[at++];
      if (byte === undefined) throw new Error("a message is cut off");
      value += (byte & 0x7f) * 2 ** (7 * place);
      if (byte < 0x80) return value;
    }
    throw new Error("a number of a message has no end");
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
        throw new Error(`a message has a field of the unknown kind ${tag % 8}`);
    }
  }
}
