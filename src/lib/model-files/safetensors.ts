// The safetensors file format. Headers are read and checked immediately, tensors only on demand (stored-tensor.ts).
// This module knows nothing of models.
import { closeSync, existsSync, fstatSync, openSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { requirePlainFile } from "../../base/domain/transient-errors/plain-file.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import {
  byteLengthOf,
  corrupt,
  isPlainType,
  plainTypeNames,
  readBytes,
  type PlainType,
  type StoredTensor,
} from "./stored-tensor.ts";

/** One file's header. */
export interface SafetensorsHeader {
  readonly tensors: ReadonlyMap<string, StoredTensor<PlainType>>;
  readonly metadata: Readonly<Record<string, string>>;
}

const headerBytesMax = 100 * 1024 * 1024;

/**
 * Reads and checks one file's header: sizes, offsets, overlaps, element types.
 *
 * @throws ServiceError `invalid` naming the file and the fault if it is truncated, corrupt or of an unsupported kind
 */
export function readSafetensorsHeader(file: string): SafetensorsHeader {
  requirePlainFile(file, statSync(file));
  const descriptor = openSync(file, "r");
  try {
    const fileSize = fstatSync(descriptor).size;
    if (fileSize < 8) throw corrupt(file, `it has ${fileSize} bytes; even an empty one has 8`);
    const headerSize = Number(readBytes(descriptor, { file, offset: 0, byteLength: 8 }).readBigUInt64LE(0));
    if (headerSize > headerBytesMax || 8 + headerSize > fileSize) {
      throw corrupt(file, `its header claims ${headerSize} bytes, the file has ${fileSize}`);
    }
    const text = readBytes(descriptor, { file, offset: 8, byteLength: headerSize }).toString("utf8");
    return parseHeader(file, text, { dataStart: 8 + headerSize, fileSize });
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Finds all tensors of a folder: the tensors of `model.safetensors`, or of the shards named by
 * `model.safetensors.index.json`.
 *
 * @throws ServiceError `not_found` if neither file exists; `invalid` as {@link readSafetensorsHeader}, and if the
 * index and its shards disagree
 */
export function readSafetensorsFolder(folder: string): ReadonlyMap<string, StoredTensor<PlainType>> {
  const single = join(folder, "model.safetensors");
  if (existsSync(single)) return readSafetensorsHeader(single).tensors;
  const indexFile = join(folder, "model.safetensors.index.json");
  if (!existsSync(indexFile)) {
    throw new ServiceError({
      code: "not_found",
      message: `${folder} has neither model.safetensors nor model.safetensors.index.json; convert weights in other formats first.`,
    });
  }
  const tensors = new Map<string, StoredTensor<PlainType>>();
  const shardOf = readIndex(indexFile);
  const headers = new Map(
    [...new Set(shardOf.values())].map((shard) => [shard, readShard(indexFile, folder, shard)]),
  );
  for (const [name, shard] of shardOf) {
    const tensor = headers.get(shard)?.tensors.get(name);
    if (tensor === undefined)
      throw corrupt(indexFile, `it places ${name} in ${shard}, which has no such tensor`);
    tensors.set(name, tensor);
  }
  return tensors;
}

/**
 * Returns the names of the files that hold a model's weights, in their order.
 *
 * @throws ServiceError for an index that cannot be read
 */
export function safetensorsFilesIn(folder: string): readonly string[] {
  const indexFile = join(folder, "model.safetensors.index.json");
  if (existsSync(join(folder, "model.safetensors")) || !existsSync(indexFile)) return ["model.safetensors"];
  return [...new Set(readIndex(indexFile).values())].toSorted();
}

function parseHeader(
  file: string,
  text: string,
  { dataStart, fileSize }: { readonly dataStart: number; readonly fileSize: number },
): SafetensorsHeader {
  const entries = parseObject(file, text);
  const tensors = new Map<string, StoredTensor<PlainType>>();
  let metadata: Readonly<Record<string, string>> = {};
  for (const [name, entry] of Object.entries(entries)) {
    // Unchecked cast: the format defines this key's value as a map of texts, and no code here depends on it.
    if (name === "__metadata__") metadata = entry as Record<string, string>;
    else tensors.set(name, checkedTensor(file, { name, entry, dataStart, fileSize }));
  }
  const inOrder = [...tensors.values()].sort((left, right) => left.offset - right.offset);
  for (const [index, tensor] of inOrder.entries()) {
    const end = tensor.offset + tensor.byteLength;
    const next = inOrder[index + 1];
    if (next !== undefined && next.offset < end) {
      throw corrupt(file, `the tensors ${tensor.name} and ${next.name} overlap`);
    }
  }
  return { tensors, metadata };
}

function checkedTensor(
  file: string,
  options: {
    readonly name: string;
    readonly entry: unknown;
    readonly dataStart: number;
    readonly fileSize: number;
  },
): StoredTensor<PlainType> {
  const { name, dataStart, fileSize } = options;
  const entry = (options.entry ?? {}) as { dtype?: unknown; shape?: unknown; data_offsets?: unknown };
  const { dtype, shape, data_offsets: offsets } = entry;
  if (!isSizes(shape) || !isSizes(offsets) || offsets.length !== 2 || typeof dtype !== "string") {
    throw corrupt(file, `the entry of ${name} lacks a dtype, a shape or its two offsets`);
  }
  if (!isPlainType(dtype)) {
    throw new ServiceError({
      code: "unsupported",
      message: `${basename(file)}: the tensor ${name} is ${dtype}; ${plainTypeNames} are read. Use unquantized weights.`,
    });
  }
  const [start, end] = offsets as [number, number];
  // The length is never null here, because an element of a plain type takes whole bytes.
  const byteLength = byteLengthOf(dtype, shape) ?? 0;
  if (end - start !== byteLength) {
    throw corrupt(
      file,
      `${name} has ${end - start} bytes; ${dtype} [${shape.join(", ")}] takes ${byteLength}`,
    );
  }
  if (dataStart + end > fileSize) {
    throw corrupt(file, `${name} ends at byte ${dataStart + end}, the file has ${fileSize}; copy it again`);
  }
  return { name, type: dtype, shape, file, offset: dataStart + start, byteLength };
}

function isSizes(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}

function readIndex(indexFile: string): ReadonlyMap<string, string> {
  requirePlainFile(indexFile, statSync(indexFile));
  const map = parseObject(indexFile, readFileSync(indexFile, "utf8"))["weight_map"];
  if (map === null || typeof map !== "object") throw corrupt(indexFile, "it has no weight_map");
  const shardOf = new Map<string, string>();
  for (const [name, shard] of Object.entries(map)) {
    // A path would let an index reach outside its folder.
    if (typeof shard !== "string" || shard !== basename(shard)) {
      throw corrupt(indexFile, `the shard of ${name} is not a plain file name`);
    }
    shardOf.set(name, shard);
  }
  return shardOf;
}

function readShard(indexFile: string, folder: string, shard: string): SafetensorsHeader {
  const file = join(folder, shard);
  if (!existsSync(file)) throw corrupt(indexFile, `its shard ${shard} is missing; copy it too`);
  return readSafetensorsHeader(file);
}

function parseObject(file: string, text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw corrupt(file, "its JSON does not parse", cause);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw corrupt(file, "its JSON is not an object");
  }
  return value as Record<string, unknown>;
}
