// Writes GGUF files for tests: version 3, one part, tensors in the order given. Quantizes to Q8_0 only; other block
// types are given as bytes. Source of the layout: ggml's docs/gguf.md.
import { writeFileSync } from "node:fs";
import { assert } from "../../../base/domain/assert.ts";
import { float32ToBfloat16, float32ToFloat16 } from "../half-floats.ts";
import { quantize } from "../gguf/writing/encode-blocks.ts";
import { ggufHeader, paddingAfter } from "../gguf/writing/gguf-header.ts";
import type { TypedValue, ValueType } from "../gguf/type-numbers.ts";
import { byteLengthOf, type StoredType } from "../stored-tensor.ts";

/**
 * Value of a key. Integers are written as uint32 (in lists as int32), other numbers as float32. Wrap a float that
 * happens to be an integer in {@link float}.
 */
export type WrittenValue =
  | string
  | number
  | boolean
  | WrittenFloat
  | readonly string[]
  | readonly number[]
  | readonly boolean[]
  | readonly WrittenFloat[];

export interface WrittenFloat {
  readonly float: number;
}

/** Marks any number as a float32 value. */
export function float(value: number): WrittenFloat {
  return { float: value };
}

export interface WrittenTensor {
  readonly name: string;
  /** Row-major, outermost axis first, as in `StoredTensor`; the file has the axes in reverse order. */
  readonly shape: readonly number[];
  readonly type: StoredType;
  /** Floats to convert, or the bytes of the tensor. */
  readonly data: Float32Array | Uint8Array;
}

export interface WrittenGguf {
  readonly metadata: Readonly<Record<string, WrittenValue>>;
  readonly tensors: readonly WrittenTensor[];
}

/** Writes `file`, replacing an existing one. */
export function writeGguf(file: string, gguf: WrittenGguf): void {
  writeFileSync(file, ggufBytes(gguf));
}

function ggufBytes({ metadata, tensors }: WrittenGguf): Uint8Array {
  const typed = new Map(Object.entries(metadata).map(([key, value]) => [key, typedValue(value)]));
  const data = tensors.flatMap((tensor) => {
    const bytes = tensorBytes(tensor);
    return [bytes, new Uint8Array(paddingAfter(bytes.length))];
  });
  return Buffer.concat([ggufHeader(typed, tensors), ...data]);
}

function typedValue(value: WrittenValue): TypedValue {
  if (!Array.isArray(value)) return { type: typeOf(value), value: numberIn(value as Scalar) };
  const list = value as readonly Scalar[]; // Safe cast: Array.isArray does not narrow readonly arrays.
  const isWhole = list.every((item) => Number.isInteger(item));
  const type = isWhole ? "int32" : typeOf(list.find(isFraction) ?? list[0]);
  // Safe cast: the entries of a list have one type.
  return { type, value: list.map(numberIn) as readonly string[] };
}

type Scalar = string | number | boolean | WrittenFloat;

function isFraction(value: Scalar): boolean {
  return typeof value === "number" && !Number.isInteger(value);
}

function typeOf(value: WrittenValue): ValueType {
  if (typeof value === "string") return "text";
  if (typeof value === "boolean") return "flag";
  return Number.isInteger(value) ? "uint32" : "float32";
}

function numberIn(value: Scalar): string | number | boolean {
  return typeof value === "object" ? value.float : value;
}

function tensorBytes({ name, shape, type, data }: WrittenTensor): Uint8Array {
  const bytes = data instanceof Float32Array ? encoded(data, type) : data;
  assert(bytes.length === byteLengthOf(type, shape), `${name} has the bytes of its shape`);
  return bytes;
}

function encoded(values: Float32Array, type: StoredType): Uint8Array {
  switch (type) {
    case "F32":
      return new Uint8Array(values.slice().buffer);
    case "F16":
      return new Uint8Array(float32ToFloat16(values).buffer);
    case "BF16":
      return new Uint8Array(float32ToBfloat16(values).buffer);
    case "Q8_0":
      return quantize(type, values);
    default:
      throw new Error(`${type} is written from bytes only`);
  }
}
