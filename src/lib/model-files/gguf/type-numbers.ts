// The types of values and tensors in GGUF files, with their numbers. Sources: ggml's docs/gguf.md, and llama.cpp's
// `ggml_type`.
import type { StoredType } from "../stored-tensor.ts";

export type GgufValue =
  | string
  | number
  | boolean
  | readonly string[]
  | readonly number[]
  | readonly boolean[];

/**
 * Numbers of the types of single values. A list has {@link listTypeNumber}, followed by the number of its entries'
 * type.
 */
export const valueTypeNumbers = {
  uint8: 0,
  int8: 1,
  uint16: 2,
  int16: 3,
  uint32: 4,
  int32: 5,
  float32: 6,
  flag: 7,
  text: 8,
  uint64: 10,
  int64: 11,
  float64: 12,
} as const;

export type ValueType = keyof typeof valueTypeNumbers;

export const listTypeNumber = 9;

/** A value and its type in the file; for a list, the type of its entries. */
export interface TypedValue {
  readonly type: ValueType;
  readonly value: GgufValue;
}

/** Metadata as it is written, in the file's order. */
export type TypedMetadata = ReadonlyMap<string, TypedValue>;

const names = new Map<number, ValueType>(
  // Safe cast: these are the entries of the record.
  (Object.entries(valueTypeNumbers) as [ValueType, number][]).map(([name, number]) => [number, name]),
);

/** Returns the type with this number; null for an unknown number. */
export function valueTypeOf(number: number): ValueType | null {
  return names.get(number) ?? null;
}

/** Returns only the values, as a reader of a file gets them. */
export function plainValues(metadata: TypedMetadata): ReadonlyMap<string, GgufValue> {
  return new Map([...metadata].map(([key, { value }]) => [key, value]));
}

/** Numbers of the types that Hone reads. GGUF has no type of unsigned bytes; tests write such a tensor as signed. */
export const tensorTypeNumbers: Readonly<Record<StoredType, number>> = {
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
  U8: 24,
  I64: 27,
  BF16: 30,
  MXFP4: 39,
};
/** Integer types. No model that Hone reads has them. */
const integerTypes: readonly string[] = ["I64", "U8"];

/** Types that Hone reads, by their number in the file. */
export const readTensorTypes: ReadonlyMap<number, StoredType> = new Map(
  // Safe cast: these are the entries of the record.
  (Object.entries(tensorTypeNumbers) as [StoredType, number][])
    .filter(([name]) => !integerTypes.includes(name))
    .map(([name, number]) => [number, name]),
);
