// Arranges prompt parts in the tensors of one call, and creates the inputs of that call. This module knows the graphs'
// inputs, but neither sessions nor adapters.
import { float32Tensor, int64Tensor, type Tensor } from "../../lib/graph/tensor.ts";
import { laterPartNames } from "../architectures/serving-graphs.ts";
import { stateNames } from "../architectures/serving/sequence-memory.ts";
import type { EntryRange, KvLane } from "./cache/kv-lane.ts";
import { stateSizes } from "./cache/sequence-states.ts";
import type { PromptPart } from "./model-runner.ts";
import { hasMatrices, type ModelShape } from "./model-shape.ts";

/**
 * The length of a sequence is padded to a multiple of this number. Fused attention works in blocks of rows, and sums a
 * block of one row in another order than a longer block. With padding, results do not depend on the other prompts in
 * the call, or on how a prompt is divided.
 */
const lengthGranule = 8;

/** Inputs of a call and the locations of its results. Callers add the inputs for caches and adapters. */
export interface PartLayout {
  readonly feeds: Readonly<Record<string, Tensor>>;
  /** Location of each part's new keys and values in the output arrays, which have `positionCount` positions per row. */
  readonly ranges: readonly EntryRange[];
  readonly positionCount: number;
  /** Number of result rows of each part. Rows of a part follow one another. */
  readonly rowCounts: readonly number[];
}

/** Arranges first parts of prompts: one part per row, padded on the right. */
export function layOutFirstParts({ shape }: KvLane, parts: readonly PromptPart[]): PartLayout {
  const positionCount = padded(Math.max(...parts.map(({ tokenIds }) => tokenIds.length)));
  const tokens_BT = new BigInt64Array(parts.length * positionCount);
  parts.forEach(({ tokenIds }, row) => {
    tokenIds.forEach((id, position) => (tokens_BT[row * positionCount + position] = BigInt(id)));
  });
  const places = parts.map((part, row) => wantedIndices(part, row * positionCount));
  return {
    feeds: {
      tokens: int64Tensor([parts.length, positionCount], tokens_BT),
      places: toIndexTensor(places),
      ...rowEnds(shape, parts, positionCount),
      ...(hasMatrices(shape) && { lengths: vector(parts.map(({ tokenIds }) => tokenIds.length)) }),
    },
    ranges: parts.map(({ tokenIds }, row) => ({ row, start: 0, count: tokenIds.length })),
    positionCount,
    rowCounts: places.map(({ length }) => length),
  };
}

/**
 * Arranges later parts of prompts one after another, without padding. `partCount` is the graph's number of parts, which
 * may be more than are used.
 */
export function layOutLaterParts(lane: KvLane, parts: readonly PromptPart[], partCount: number): PartLayout {
  const positions: number[] = [];
  const order: number[] = [];
  const ranges: EntryRange[] = [];
  const places: (readonly number[])[] = [];
  const feeds: Record<string, Tensor> = {};
  let rowCount = 0;
  for (const [index, part] of parts.entries()) {
    const { slot, tokenIds } = part;
    const start = positions.length;
    const pastLength = lane.lengths[slot];
    tokenIds.forEach((_, token) => {
      positions.push(pastLength + token);
      order.push(rowCount + token);
    });
    const last = tokenIds.length - 1;
    const length = padded(tokenIds.length);
    const names = laterPartNames(index);
    feeds[names.rows] = row(Array.from({ length }, (_, place) => start + Math.min(place, last)));
    feeds[names.pastLength] = vector([pastLength]);
    ranges.push({ row: 0, start, count: tokenIds.length });
    places.push(wantedIndices(part, start));
    rowCount += length;
  }
  Object.assign(feeds, layOutTaps(lane, parts, partCount), ownRows(lane, parts, partCount));
  for (let index = parts.length; index < partCount; index++) {
    const names = laterPartNames(index);
    feeds[names.rows] = row([0]);
    feeds[names.pastLength] = vector([0]);
  }
  feeds["tokens"] = vector(parts.flatMap(({ tokenIds }) => tokenIds));
  feeds["positions"] = vector(positions);
  feeds["order"] = row(order);
  feeds["places"] = toIndexTensor(places);
  return { feeds, ranges, positionCount: positions.length, rowCounts: places.map(({ length }) => length) };
}

/**
 * Returns the inputs for the caches and states of later parts. Unused parts get the smallest caches that the graph
 * accepts.
 */
export function laterPartCaches(
  lane: KvLane,
  parts: readonly PromptPart[],
  partCount: number,
): Readonly<Record<string, Tensor>> {
  const feeds: Record<string, Tensor> = {};
  const sizes = stateSizes(lane.shape.states);
  for (const [state, { kind, dims: stateDims }] of lane.shape.states.entries()) {
    const size = sizes[state];
    const own = parts.map(({ slot }) => lane.states.view(state, slot, 1));
    if (kind === "matrices") {
      for (let part = 0; part < partCount; part++) {
        const values = own.at(part) ?? new Float32Array(size);
        feeds[stateNames(state, part).state] = float32Tensor([1, ...stateDims], values);
      }
      continue;
    }
    const values = new Float32Array(partCount * size);
    for (const [part, inputs] of own.entries()) values.set(inputs, part * size);
    feeds[stateNames(state).state] = float32Tensor([partCount, ...stateDims], values);
  }
  for (let index = 0; index < partCount; index++) {
    const names = laterPartNames(index);
    const slot = index < parts.length ? parts[index].slot : null;
    for (const [layer, { kvHeadCount, headSize }] of lane.shape.caches.entries()) {
      const unused = float32Tensor([1, kvHeadCount, 1, headSize], new Float32Array(kvHeadCount * headSize));
      const dims = [1, kvHeadCount, lane.capacity, headSize];
      feeds[names.keys(layer)] = slot === null ? unused : float32Tensor(dims, lane.keys(layer, slot, 1));
      feeds[names.values(layer)] = slot === null ? unused : float32Tensor(dims, lane.values(layer, slot, 1));
    }
  }
  return feeds;
}

/**
 * Returns the input `ends` of `wholeRowTaps`: the indices of each row's last positions. Returns no input for models
 * without states.
 */
function rowEnds(
  { states }: ModelShape,
  parts: readonly PromptPart[],
  positionCount: number,
): Readonly<Record<string, Tensor>> {
  if (states.length === 0) return {};
  const size = keptInputs(states);
  const ends = parts.flatMap(({ tokenIds }, row) =>
    Array.from({ length: size }, (_, place) => row * (size + positionCount) + tokenIds.length + place),
  );
  return { ends: int64Tensor([parts.length, size], ends) };
}

/**
 * Returns the inputs of `listTaps`: the indices of the convolution inputs of later parts. Returns no inputs for models
 * without states.
 */
function layOutTaps(
  { shape: { states } }: KvLane,
  parts: readonly PromptPart[],
  partCount: number,
): Readonly<Record<string, Tensor>> {
  if (states.length === 0) return {};
  const size = keptInputs(states);
  // For each part, the indices of its convolution inputs: those in its state, then those of its tokens. The indices
  // refer to all states followed by all tokens.
  let tokenCount = 0;
  const inputs = Array.from({ length: partCount }, (_, part) => {
    const before = Array.from({ length: size }, (__, place) => part * size + place);
    const count = parts.at(part)?.tokenIds.length ?? 0;
    const start = partCount * size + tokenCount;
    if (part < parts.length) tokenCount += count;
    return [
      ...before,
      ...Array.from({ length: part < parts.length ? count : 0 }, (__, token) => start + token),
    ];
  });
  const places = Array.from({ length: size }, (_, place) =>
    inputs.flatMap((places) => places.slice(place, places.length - size + place)),
  );
  return {
    tap_places: int64Tensor([size, tokenCount], places.flat()),
    ends: int64Tensor(
      [partCount, size],
      inputs.flatMap((all) => all.slice(all.length - size)),
    ),
  };
}

/**
 * Returns the indices of each part's tokens, as `buildContinuationGraph` needs them. Returns no inputs for models
 * without recurrences.
 */
function ownRows(
  { shape }: KvLane,
  parts: readonly PromptPart[],
  partCount: number,
): Readonly<Record<string, Tensor>> {
  if (!hasMatrices(shape)) return {};
  let start = 0;
  return Object.fromEntries(
    Array.from({ length: partCount }, (_, part) => {
      const first = start;
      const count = part < parts.length ? parts[part].tokenIds.length : 0;
      start += count;
      const rows = count === 0 ? [0] : Array.from({ length: count }, (__, token) => first + token);
      return [`own_rows.${part}`, row(rows)];
    }),
  );
}

/** Returns the number of earlier positions whose inputs a convolution needs. */
function keptInputs(states: ModelShape["states"]): number {
  const [first] = states.filter(({ kind }) => kind === "inputs");
  return first.dims[0];
}

/** Returns the indices of the tokens whose logits a part needs, counted from the start of the tensor. */
function wantedIndices({ tokenIds, logits }: PromptPart, start: number): readonly number[] {
  if (logits === "all") return tokenIds.map((_, token) => start + token);
  return logits === "none" ? [] : [start + tokenIds.length - 1];
}

/**
 * Joins the lists of indices. If they are all empty, uses one index whose result is ignored, because the runtime cannot
 * determine all shapes from an empty tensor.
 */
function toIndexTensor(places: readonly (readonly number[])[]): Tensor<"int64"> {
  const wanted = places.flat();
  return vector(wanted.length === 0 ? [0] : wanted);
}

function padded(length: number): number {
  return Math.ceil(length / lengthGranule) * lengthGranule;
}

function row(values: readonly number[]): Tensor<"int64"> {
  return int64Tensor([1, values.length], values);
}

function vector(values: readonly number[]): Tensor<"int64"> {
  return int64Tensor([values.length], values);
}
