// Where the tokens of a pack lie: prefixes, then rows, one behind another in a list, and the padded rows that attention
// makes of them. Numbers alone; the trainer makes tensors of them.
import { trainedIndices } from "../../trajectories/sequences.ts";
import type { Pack } from "./packs.ts";
import { type PackedSequence, prefixOf } from "./prefix-groups.ts";

/** Tokens that follow one another in the list. */
export interface Segment {
  readonly start: number;
  readonly length: number;
}

/** The beginning of a prefix that a row goes on from. */
export interface RowPrefix {
  /** Index of the prefix. */
  readonly prefix: number;
  readonly length: number;
}

export interface PackLayout<Sequence extends PackedSequence> {
  readonly kind: Pack<Sequence>["kind"];
  readonly tokenIds_L: readonly number[];
  /** From 0 at the start of a sequence. */
  readonly positions_L: readonly number[];
  /** One per group, or none in a pack without prefixes. */
  readonly prefixes_G: readonly Segment[];
  /** What follows a row's prefix. */
  readonly rows_R: readonly Segment[];
  /** What each row goes on from; empty in a pack without prefixes. */
  readonly prefixOfRow_R: readonly RowPrefix[];
  /** In the order of the rows. */
  readonly sequences_S: readonly Sequence[];
  /** Of all sequences, one behind another. */
  readonly trained_N: readonly TrainedToken[];
}

/** A token that trains: what is predicted, and where. */
export interface TrainedToken {
  /** Index of its sequence in the pack. */
  readonly sequence: number;
  /** Its index in the sequence. */
  readonly index: number;
  /** Index in the list of the token that predicts it; several sequences may have one in common. */
  readonly place: number;
}

/** Lays out a pack. */
export function layoutOf<Sequence extends PackedSequence>({
  kind,
  groups,
}: Pack<Sequence>): PackLayout<Sequence> {
  const list = new TokenList();
  const isPrefixed = kind === "prefixed";
  const prefixes_G = isPrefixed ? groups.map((group) => list.append(prefixOf(group))) : [];
  const rows_R: Segment[] = [];
  const prefixOfRow_R: RowPrefix[] = [];
  const sequences_S: Sequence[] = [];
  const trained_N: TrainedToken[] = [];
  for (const [group, rows] of groups.entries()) {
    for (const { inputIds, prefixLength, sequences } of rows) {
      const segment = list.append(inputIds, prefixLength);
      rows_R.push(segment);
      if (isPrefixed) prefixOfRow_R.push({ prefix: group, length: prefixLength });
      const placeOf = (index: number): number =>
        index < prefixLength ? prefixes_G[group].start + index : segment.start + index - prefixLength;
      for (const sequence of sequences) {
        for (const index of trainedIndices(sequence))
          trained_N.push({ sequence: sequences_S.length, index, place: placeOf(index - 1) });
        sequences_S.push(sequence);
      }
    }
  }
  const { tokenIds_L, positions_L } = list;
  return { kind, tokenIds_L, positions_L, prefixes_G, rows_R, prefixOfRow_R, sequences_S, trained_N };
}

/** Segments as padded rows. */
export interface PaddedRows {
  readonly count: number;
  /** Of the longest segment. */
  readonly length: number;
  /** [count, length]: which token of the list stands there; padding names the segment's last. */
  readonly ids: readonly number[];
}

/** Pads segments on the right; there is at least one. */
export function paddedRows(segments: readonly Segment[]): PaddedRows {
  const length = Math.max(...segments.map((segment) => segment.length));
  const ids = segments.flatMap((segment) =>
    Array.from({ length }, (_, index) => segment.start + Math.min(index, segment.length - 1)),
  );
  return { count: segments.length, length, ids };
}

/**
 * Where the tokens of segments stand in padded rows that lie one behind another.
 *
 * @param parts segments padded to the same length each; together they are the whole list, in order
 */
export function placesInRows(parts: readonly (readonly Segment[])[]): readonly number[] {
  const places: number[] = [];
  let before = 0;
  for (const segments of parts) {
    if (segments.length === 0) continue;
    const { count, length } = paddedRows(segments);
    segments.forEach((segment, row) => {
      for (let index = 0; index < segment.length; index++) places.push(before + row * length + index);
    });
    before += count * length;
  }
  return places;
}

class TokenList {
  readonly tokenIds_L: number[] = [];
  readonly positions_L: number[] = [];

  /** Appends tokens from position `start` on. */
  append(tokenIds: Int32Array, start = 0): Segment {
    const segment = { start: this.tokenIds_L.length, length: tokenIds.length - start };
    for (let position = start; position < tokenIds.length; position++) {
      this.tokenIds_L.push(tokenIds[position]);
      this.positions_L.push(position);
    }
    return segment;
  }
}
