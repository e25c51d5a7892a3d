// Writes the header of a GGUF file (version 3, one part): metadata, then the tensors' names, shapes, types and offsets.
// Source of the layout: ggml's docs/gguf.md. This module writes no files.
import { assert, unreachable } from "../../../../base/domain/assert.ts";
import { byteLengthOf, type StoredType } from "../../stored-tensor.ts";
import {
  listTypeNumber,
  tensorTypeNumbers,
  type TypedMetadata,
  type TypedValue,
  valueTypeNumbers,
} from "../type-numbers.ts";

/** A tensor's entry in the header. */
export interface HeaderTensor {
  readonly name: string;
  /** Row-major, outermost axis first, as in `StoredTensor`; the file has the axes in reverse order. */
  readonly shape: readonly number[];
  readonly type: StoredType;
}

/** Boundary in bytes at which the data of each tensor begins. */
const alignment = 32;

/** Returns the number of zero bytes after `byteLength` bytes of data. */
export function paddingAfter(byteLength: number): number {
  return (alignment - (byteLength % alignment)) % alignment;
}

/** Returns the size of a tensor's data in bytes, without padding; its last axis must be a whole number of blocks. */
export function dataBytesOf({ name, shape, type }: HeaderTensor): number {
  const bytes = byteLengthOf(type, shape);
  assert(bytes !== null, `${name} is a whole number of blocks`);
  return bytes;
}

/** Returns the header, with its padding. The data of the tensors follows in the given order, each padded. */
export function ggufHeader(metadata: TypedMetadata, tensors: readonly HeaderTensor[]): Uint8Array {
  const pieces: Uint8Array[] = [
    Buffer.from("GGUF"),
    uint32(3),
    uint64(tensors.length),
    uint64(metadata.size),
  ];
  for (const [key, value] of metadata) pieces.push(text(key), typedBytes(value));
  let offset = 0;
  for (const tensor of tensors) {
    const { name, shape, type } = tensor;
    pieces.push(text(name), uint32(shape.length), ...shape.toReversed().map(uint64));
    pieces.push(uint32(tensorTypeNumbers[type]), uint64(offset));
    const bytes = dataBytesOf(tensor);
    offset += bytes + paddingAfter(bytes);
  }
  const header = Buffer.concat(pieces);
  return Buffer.concat([header, new Uint8Array(paddingAfter(header.length))]);
}

function typedBytes({ type, value }: TypedValue): Uint8Array {
  const number = uint32(valueTypeNumbers[type]);
  if (!Array.isArray(value)) return Buffer.concat([number, scalarBytes(type, value as Scalar)]);
  const list = value as readonly Scalar[]; // Safe cast: Array.isArray does not narrow readonly arrays.
  const entries = list.map((entry) => scalarBytes(type, entry));
  return Buffer.concat([uint32(listTypeNumber), number, uint64(list.length), ...entries]);
}

type Scalar = string | number | boolean;

function scalarBytes(type: TypedValue["type"], value: Scalar): Uint8Array {
  const number = Number(value);
  switch (type) {
    case "text":
      return text(String(value));
    case "flag":
    case "uint8":
    case "int8":
      return Uint8Array.of(number);
    case "uint16":
    case "int16":
      return new Uint8Array(Uint16Array.of(number).buffer);
    case "uint32":
    case "int32":
      return uint32(number);
    case "float32":
      return new Uint8Array(Float32Array.of(number).buffer);
    case "float64":
      return new Uint8Array(Float64Array.of(number).buffer);
    case "uint64":
    case "int64":
      return new Uint8Array(BigInt64Array.of(BigInt(number)).buffer);
    default:
      return unreachable(type);
  }
}

function text(value: string): Uint8Array {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint64(bytes.length), bytes]);
}

function uint32(value: number): Uint8Array {
  return new Uint8Array(Uint32Array.of(value).buffer);
}

function uint64(value: number): Uint8Array {
  return new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);
}
