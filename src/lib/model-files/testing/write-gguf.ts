// Writes GGUF files for tests: version 3, one part, tensors in the order given. Quantizes to Q8_0 only; other block
// types are given as bytes. Source of the layout: ggml's docs/gguf.md.
import { writeFileSync } from "node:fs";
import { assert } from "../../../base/domain/assert.ts";
import { float32ToBfloat16, float32ToFloat16 } from "../half-floats.ts";
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

const alignment = 32;

function ggufBytes({ metadata, tensors }: WrittenGguf): Uint8Array {
  const entries = Object.entries(metadata);
  const head: Uint8Array[] = [Buffer.from("GGUF"), uint32(3), uint64(tensors.length), uint64(entries.length)];
  for (const [key, value] of entries) head.push(text(key), ...typedValue(value));
  const data: Uint8Array[] = [];
  let offset = 0;
  for (const tensor of tensors) {
    const { name, shape, type } = tensor;
    head.push(text(name), uint32(shape.length), ...shape.toReversed().map(uint64));
    head.push(uint32(typeNumbers[type]), uint64(offset));
    const bytes = padded(tensorBytes(tensor));
    data.push(bytes);
    offset += bytes.length;
  }
  return Buffer.concat([padded(Buffer.concat(head)), ...data]);
}

const typeNumbers: Readonly<Record<StoredType, number>> = {
  F32: 0,
  F16: 1,
  Q4_0: 2,
  Q4_1: 3,
  Q5_0: 6,
  Q5_1: 7,
  Q8_0: 8,
  Q2_K: 10,
  Q3_K: 11,
  Q4_K: 12,
  Q5_K: 13,
  Q6_K: 14,
  IQ3_XXS: 18,
  IQ4_NL: 20,
  IQ3_S: 21,
  IQ4_XS: 23,
  // GGUF has only signed bytes.
  U8: 24,
  MXFP4: 39,
  I64: 27,
  BF16: 30,
};

function typedValue(value: WrittenValue): readonly Uint8Array[] {
  if (!Array.isArray(value)) return [uint32(typeOf(value)), scalar(value as Scalar)];
  const list = value as readonly Scalar[]; // Safe cast: Array.isArray does not narrow readonly arrays.
  const isWhole = list.every((item) => Number.isInteger(item));
  const type = isWhole ? valueTypes.int32 : typeOf(list.find(isFraction) ?? list[0]);
  return [uint32(9), uint32(type), uint64(list.length), ...list.map((item) => scalarAs(item, type))];
}

type Scalar = string | number | boolean | WrittenFloat;

const valueTypes = { uint32: 4, int32: 5, float32: 6, flag: 7, text: 8 } as const;

function isFraction(value: Scalar): boolean {
  return typeof value === "number" && !Number.isInteger(value);
}

function typeOf(value: WrittenValue): number {
  if (typeof value === "string") return valueTypes.text;
  if (typeof value === "boolean") return valueTypes.flag;
  return Number.isInteger(value) ? valueTypes.uint32 : valueTypes.float32;
}

function scalar(value: Scalar): Uint8Array {
  return scalarAs(value, typeOf(value));
}

function scalarAs(value: Scalar, type: number): Uint8Array {
  if (typeof value === "string") return text(value);
  if (typeof value === "boolean") return Uint8Array.of(value ? 1 : 0);
  const number = typeof value === "number" ? value : value.float;
  return type === valueTypes.float32 ? new Uint8Array(Float32Array.of(number).buffer) : uint32(number);
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

function padded(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([bytes, new Uint8Array(-bytes.length & (alignment - 1))]);
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
      return toQ8_0(values);
    default:
      throw new Error(`${type} is written from bytes only`);
  }
}

/** Blocks of 32: a float16 scale, then a signed byte each. */
function toQ8_0(values: Float32Array): Uint8Array {
  const blocks: Uint8Array[] = [];
  for (let from = 0; from < values.length; from += 32) {
    const block = values.subarray(from, from + 32);
    const scale = block.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / 127;
    const codes = Int8Array.from(block, (value) => (scale === 0 ? 0 : Math.round(value / scale)));
    blocks.push(
      new Uint8Array(float32ToFloat16(Float32Array.of(scale)).buffer),
      new Uint8Array(codes.buffer),
    );
  }
  return Buffer.concat(blocks);
}
