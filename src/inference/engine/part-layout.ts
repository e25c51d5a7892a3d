// How parts of prompts lie in the tensors of one call, and what a call is fed of them. Knows the graphs' inputs, and
// neither sessions nor adapters.
import { float32Tensor, int64Tensor, type Tensor } from "../../lib/graph/tensor.ts";
import { laterPartNames } from "../architectures/serving-graphs.ts";
import type { EntryRange, KvLane } from "./cache/kv-lane.ts";
import type { PromptPart } from "./model-runner.ts";

/**
 * Sequences are padded to a multiple of this. Fused attention works in blocks of rows, and sums a block of one row in
 * another order than a longer one: which row is alone must not depend on the prompts beside, nor on how a prompt is cut.
 */
const lengthGranule = 8;

/** What a call is fed, the cache's tensors and adapters aside, and where its results belong. */
export interface PartLayout {
  readonly feeds: Readonly<Record<string, Tensor>>;
  /** Where the new keys and values of each part lie, in arrays of `positionCount` positions a row. */
  readonly ranges: readonly EntryRange[];
  readonly positionCount: number;
  /** Rows of results of each part, which follow one another. */
  readonly rowCounts: readonly number[];
}

/** First parts: one row each, padded on the right. */
export function layOutFirstParts(parts: readonly PromptPart[]): PartLayout {
  const positionCount = padded(Math.max(...parts.map(({ tokenIds }) => tokenIds.length)));
  const tokens_BT = new BigInt64Array(parts.length * positionCount);
  parts.forEach(({ tokenIds }, row) => {
    tokenIds.forEach((id, position) => (tokens_BT[row * positionCount + position] = BigInt(id)));
  });
  const places = parts.map((part, row) => wantedPlaces(part, row * positionCount));
  return {
    feeds: { tokens: int64Tensor([parts.length, positionCount], tokens_BT), places: wantedRows(places) },
    ranges: parts.map(({ tokenIds }, row) => ({ row, start: 0, count: tokenIds.length })),
    positionCount,
    rowCounts: places.map(({ length }) => length),
  };
}

/** Later parts, at most `partCount`, for which the graph has room: their tokens one after another, without padding. */
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
    places.push(wantedPlaces(part, start));
    rowCount += length;
  }
  for (let index = parts.length; index < partCount; index++) {
    const names = laterPartNames(index);
    feeds[names.rows] = row([0]);
    feeds[names.pastLength] = vector([0]);
  }
  feeds["tokens"] = vector(parts.flatMap(({ tokenIds }) => tokenIds));
  feeds["positions"] = vector(positions);
  feeds["order"] = row(order);
  feeds["places"] = wantedRows(places);
  return { feeds, ranges, positionCount: positions.length, rowCounts: places.map(({ length }) => length) };
}

/** The caches of later parts; those that no part uses are the smallest that the graph takes. */
export function laterPartCaches(
  lane: KvLane,
  parts: readonly PromptPart[],
  partCount: number,
): Readonly<Record<string, Tensor>> {
  const { layerCount, kvHeadCount, headSize } = lane.shape;
  const unused = float32Tensor([1, kvHeadCount, 1, headSize], new Float32Array(kvHeadCount * headSize));
  const dims = [1, kvHeadCount, lane.capacity, headSize];
  const feeds: Record<string, Tensor> = {};
  for (let index = 0; index < partCount; index++) {
    const names = laterPartNames(index);
    const slot = index < parts.length ? parts[index].slot : null;
    for (let layer = 0; layer < layerCount; layer++) {
      feeds[names.keys(layer)] = slot === null ? unused : float32Tensor(dims, lane.keys(layer, slot, 1));
      feeds[names.values(layer)] = slot === null ? unused : float32Tensor(dims, lane.values(layer, slot, 1));
    }
  }
  return feeds;
}

/** The tokens of a part of which results are wanted, from where the part begins. */
function wantedPlaces({ tokenIds, logits }: PromptPart, start: number): readonly number[] {
  if (logits === "all") return tokenIds.map((_, token) => start + token);
  return logits === "none" ? [] : [start + tokenIds.length - 1];
}

/** Never none, for which the runtime does not know all shapes; a row that nobody wants is at the end. */
function wantedRows(places: readonly (readonly number[])[]): Tensor<"int64"> {
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
