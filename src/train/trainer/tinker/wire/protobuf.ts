// Reads and writes the fields of protocol buffer messages by their numbers, without a schema.
import { BinaryReader, BinaryWriter, WireType } from "../../../../lib/protobuf/wire.ts";

/** Encodes a length-delimited field. A message is the concatenation of its fields. */
export function bytesField(field: number, bytes: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(bytes).finish();
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
  return new BinaryWriter().tag(field, WireType.Varint).uint64(value).finish();
}

/** Encodes a double as a field of eight bytes. */
export function doubleField(field: number, value: number): Uint8Array {
  return new BinaryWriter().tag(field, WireType.Bit64).double(value).finish();
}

/** Encodes an integer as an element of a packed field. */
export function varint(value: number): Uint8Array {
  return new BinaryWriter().uint64(value).finish();
}

interface Field {
  /** Value, if the field is a varint or a double; otherwise 0. */
  readonly value: number;
  /** Content, if the field is length-delimited; otherwise empty. */
  readonly bytes: Uint8Array;
}

const none: Field = { value: 0, bytes: new Uint8Array() };

/** A decoded message, with its fields by number. Fields of four bytes are skipped. */
export class WireMessage {
  readonly #fields = new Map<number, Field[]>();

  /** @throws Error if the bytes are not a message */
  constructor(message: Uint8Array) {
    try {
      const reader = new BinaryReader(message);
      while (reader.pos < message.length) {
        const [number, type] = reader.tag();
        const fields = this.#fields.get(number) ?? [];
        this.#fields.set(number, fields);
        if (type === WireType.LengthDelimited) fields.push({ ...none, bytes: reader.bytes() });
        else if (type === WireType.Varint) fields.push({ ...none, value: Number(reader.uint64()) });
        else if (type === WireType.Bit64) fields.push({ ...none, value: reader.double() });
        else reader.skip(type, number);
      }
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`a message is cut off or malformed: ${reason}`, { cause });
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
    return this.#last(field).bytes;
  }

  text(field: number): string {
    return Buffer.from(this.bytes(field)).toString();
  }

  /** Returns the value of a field that is a varint or a double; 0 if absent. */
  number(field: number): number {
    return this.#last(field).value;
  }

  #last(field: number): Field {
    return this.#fields.get(field)?.at(-1) ?? none;
  }
}
