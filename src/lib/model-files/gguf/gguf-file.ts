// The GGUF file format, versions 2 and 3 (source: ggml's docs/gguf.md). The header is read and checked immediately,
// tensors only on demand. Sizes are compared with the file's size before memory is allocated.
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { requirePlainFile } from "../../../base/domain/transient-errors/plain-file.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { byteLengthOf, corrupt, type StoredTensor, type StoredType } from "../stored-tensor.ts";
import { splitFusedProjections } from "./fused-projections.ts";
import {
  type GgufValue,
  listTypeNumber,
  readTensorTypes,
  type ValueType,
  valueTypeOf,
} from "./type-numbers.ts";

export interface GgufFile {
  readonly metadata: ReadonlyMap<string, GgufValue>;
  /** Types of the values in the file, by their keys; for a list, the type of its entries. */
  readonly valueTypes: ReadonlyMap<string, ValueType>;
  /**
   * Tensors in the file's order. Shapes are row-major, outermost axis first, as in other formats; the file has them
   * reversed.
   */
  readonly tensors: ReadonlyMap<string, StoredTensor>;
}

/**
 * Maximum size of a header: more than the largest vocabularies (262,144 tokens with their merges) and their templates
 * take.
 */
const headerBytesMax = 256 * 1024 * 1024;
const entriesMax = 1 << 20;

/**
 * Reads a model's file. If the model is split, `file` may be any part, and all parts are read. Fused projections of
 * queries, keys and values become three tensors each.
 *
 * @throws ServiceError `invalid` naming the file and the fault if it is truncated, corrupt or a part is missing;
 * `unsupported` naming unsupported tensor types
 */
export function readGguf(file: string): GgufFile {
  return splitFusedProjections(readParts(file));
}

function readParts(file: string): GgufFile {
  const first = readPart(file);
  const count = first.metadata.get("split.count");
  if (typeof count !== "number" || count <= 1) return first;
  const parts = partNames(file, count).map((name) => (name === file ? first : readPart(name)));
  const tensors = new Map<string, StoredTensor>();
  for (const part of parts) for (const [name, tensor] of part.tensors) tensors.set(name, tensor);
  const wanted = first.metadata.get("split.tensors.count");
  if (typeof wanted === "number" && wanted !== tensors.size) {
    throw corrupt(file, `its ${count} parts hold ${tensors.size} tensors, and should hold ${wanted}`);
  }
  // Only the first part has the metadata of the model. The metadata of the other parts is only their part number.
  return { ...parts[0], tensors };
}

/** Returns all files of the model that `file` belongs to, in their order. */
export function ggufParts(file: string): readonly string[] {
  const count = Number(splitName.exec(basename(file))?.groups?.["count"] ?? 1);
  return count > 1 ? partNames(file, count) : [file];
}

const splitName = /^(?<name>.+)-(?<part>\d{5})-of-(?<count>\d{5})\.gguf$/;
const partsMax = 10_000;

function partNames(file: string, count: number): readonly string[] {
  const match = splitName.exec(basename(file));
  if (match?.groups === undefined || Number(match.groups["count"]) !== count || count > partsMax) {
    throw corrupt(
      file,
      `it is one of ${count} parts, and its name does not end with -00001-of-${pad(count)}.gguf`,
    );
  }
  const { name } = match.groups;
  return Array.from({ length: count }, (_, index) => {
    return join(dirname(file), `${name}-${pad(index + 1)}-of-${pad(count)}.gguf`);
  });
}

function pad(number: number): string {
  return String(number).padStart(5, "0");
}

/** llama.cpp's names of the types that Hone does not read. */
const otherTypeNames: Readonly<Record<number, string>> = {
  16: "IQ2_XXS",
  17: "IQ2_XS",
  19: "IQ1_S",
  22: "IQ2_S",
  29: "IQ1_M",
  34: "TQ1_0",
  35: "TQ2_0",
  40: "NVFP4",
  41: "Q1_0",
  42: "Q2_0",
};

function readPart(file: string): GgufFile {
  let descriptor: number;
  try {
    requirePlainFile(file, statSync(file));
    descriptor = openSync(file, "r");
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw new ServiceError({
      code: "not_found",
      message: `${file} cannot be opened; name the file of a model.`,
      cause,
    });
  }
  try {
    return parsePart(new HeaderReader(file, descriptor));
  } finally {
    closeSync(descriptor);
  }
}

function parsePart(reader: HeaderReader): GgufFile {
  if (reader.fileSize < 24 || reader.text(4) !== "GGUF")
    throw reader.corrupt("it does not begin like a GGUF file");
  const version = reader.uint32();
  if (version !== 2 && version !== 3) {
    throw reader.corrupt(`it is of version ${version}; 2 and 3 are read, in little-endian order`);
  }
  const [tensorCount, entryCount] = [reader.count(entriesMax), reader.count(entriesMax)];
  const metadata = new Map<string, GgufValue>();
  const valueTypes = new Map<string, ValueType>();
  for (let index = 0; index < entryCount; index++) {
    const key = reader.string();
    const number = reader.uint32();
    const type = valueType(reader, number === listTypeNumber ? reader.uint32() : number);
    metadata.set(key, number === listTypeNumber ? readList(reader, type) : valueReaders[type](reader));
    valueTypes.set(key, type);
  }
  const entries = Array.from({ length: tensorCount }, () => readEntry(reader));
  const boundary = metadata.get("general.alignment") ?? 32;
  if (typeof boundary !== "number" || boundary < 1 || boundary > 1 << 20) {
    throw reader.corrupt(`its tensors are aligned to ${JSON.stringify(boundary)} bytes`);
  }
  const dataStart = Math.ceil(reader.position / boundary) * boundary;
  return { metadata, valueTypes, tensors: placed(reader, entries, dataStart) };
}

interface TensorEntry {
  readonly name: string;
  readonly shape: readonly number[];
  readonly type: StoredType;
  readonly offset: number;
}

const dimensionsMax = 4;

function readEntry(reader: HeaderReader): TensorEntry {
  const name = reader.string();
  const rank = reader.uint32();
  if (rank > dimensionsMax) throw reader.corrupt(`the tensor ${name} has ${rank} dimensions`);
  const shape = Array.from({ length: rank }, () => reader.count(Number.MAX_SAFE_INTEGER)).reverse();
  const number = reader.uint32();
  const type = readTensorTypes.get(number);
  if (type === undefined) {
    const named = otherTypeNames[number] ?? `of the unknown type ${number}`;
    throw new ServiceError({
      code: "unsupported",
      message: `${reader.file}: the tensor ${name} is ${named}; ${[...readTensorTypes.values()].join(", ")} are read. Use a file of the model with these types, such as Q8_0, Q4_K_M or Q4_0.`,
    });
  }
  return { name, shape, type, offset: reader.count(Number.MAX_SAFE_INTEGER) };
}

function placed(
  reader: HeaderReader,
  entries: readonly TensorEntry[],
  dataStart: number,
): ReadonlyMap<string, StoredTensor> {
  const tensors = new Map<string, StoredTensor>();
  for (const { name, shape, type, offset } of entries) {
    const byteLength = byteLengthOf(type, shape);
    if (byteLength === null) {
      throw reader.corrupt(
        `the tensor ${name} is ${type} [${shape.join(", ")}], which is not a whole number of blocks`,
      );
    }
    const end = dataStart + offset + byteLength;
    if (!Number.isSafeInteger(end) || end > reader.fileSize) {
      throw reader.corrupt(
        `the tensor ${name} ends at byte ${end}, the file has ${reader.fileSize}; copy it again`,
      );
    }
    if (tensors.has(name)) throw reader.corrupt(`it holds two tensors ${name}`);
    tensors.set(name, { name, type, shape, file: reader.file, offset: dataStart + offset, byteLength });
  }
  return tensors;
}

const valueReaders: Readonly<Record<ValueType, (reader: HeaderReader) => string | number | boolean>> = {
  uint8: (reader) => reader.view(1).getUint8(0),
  int8: (reader) => reader.view(1).getInt8(0),
  uint16: (reader) => reader.view(2).getUint16(0, true),
  int16: (reader) => reader.view(2).getInt16(0, true),
  uint32: (reader) => reader.uint32(),
  int32: (reader) => reader.view(4).getInt32(0, true),
  float32: (reader) => reader.view(4).getFloat32(0, true),
  flag: (reader) => reader.view(1).getUint8(0) !== 0,
  text: (reader) => reader.string(),
  uint64: (reader) => Number(reader.view(8).getBigUint64(0, true)),
  int64: (reader) => Number(reader.view(8).getBigInt64(0, true)),
  float64: (reader) => reader.view(8).getFloat64(0, true),
};

function valueType(reader: HeaderReader, number: number): ValueType {
  const type = valueTypeOf(number);
  if (type === null) throw reader.corrupt(`it holds a value of the unknown type ${number}`);
  return type;
}

function readList(reader: HeaderReader, type: ValueType): GgufValue {
  const read = valueReaders[type];
  // Each element takes at least a byte, so a length beyond the file's is refused.
  const length = reader.count(reader.fileSize);
  const values: (string | number | boolean)[] = [];
  for (let index = 0; index < length; index++) values.push(read(reader));
  // Safe cast: a reader returns values of one type.
  return values as readonly string[];
}

/** Buffered reader that starts at the beginning of a file and never reads beyond its end. */
class HeaderReader {
  readonly file: string;
  readonly fileSize: number;
  readonly #descriptor: number;
  #buffer = Buffer.alloc(0);
  /** Offset of the buffer in the file; `#at` is the offset of the reader in the buffer. Both in bytes. */
  #start = 0;
  #at = 0;

  constructor(file: string, descriptor: number) {
    this.file = file;
    this.#descriptor = descriptor;
    this.fileSize = fstatSync(descriptor).size;
  }

  /** Offset in bytes from the file's beginning. */
  get position(): number {
    return this.#start + this.#at;
  }

  corrupt(fault: string): ServiceError {
    return corrupt(this.file, fault);
  }

  uint32(): number {
    return this.view(4).getUint32(0, true);
  }

  /** Reads a 64-bit count, which must be at most `max`. */
  count(max: number): number {
    const value = this.view(8).getBigUint64(0, true);
    if (value > BigInt(max)) throw this.corrupt(`it has a count of ${value}; at most ${max} is possible`);
    return Number(value);
  }

  string(): string {
    return this.text(this.count(headerBytesMax));
  }

  text(byteLength: number): string {
    const at = this.#take(byteLength);
    return this.#buffer.toString("utf8", at, at + byteLength);
  }

  view(byteLength: number): DataView {
    const at = this.#take(byteLength);
    return new DataView(this.#buffer.buffer, this.#buffer.byteOffset + at, byteLength);
  }

  /** @returns offset of the next `byteLength` bytes in the buffer */
  #take(byteLength: number): number {
    if (this.#at + byteLength > this.#buffer.length) this.#fill(byteLength);
    const at = this.#at;
    this.#at += byteLength;
    return at;
  }

  #fill(byteLength: number): void {
    const start = this.position;
    if (start + byteLength > Math.min(this.fileSize, headerBytesMax)) {
      const limit = this.fileSize > headerBytesMax ? `is longer than ${headerBytesMax} bytes` : "is cut off";
      throw this.corrupt(`its header ${limit}; copy it again`);
    }
    const size = Math.min(Math.max(byteLength, 1 << 20), this.fileSize - start);
    const buffer = Buffer.alloc(size);
    if (readSync(this.#descriptor, buffer, 0, size, start) < byteLength) throw this.corrupt("it ends early");
    [this.#buffer, this.#start, this.#at] = [buffer, start, 0];
  }
}
