// Lays out the tokens of a pack in one list: first all prefixes, then all rows. Also computes the padded rows that
// attention needs. Computes plain numbers, which the trainer turns into tensors.
import { trainedIndices } from "../../trajectories/sequences.ts";
import type { Pack } from "./packs.ts";
import { type PackedSequence, prefixOf } from "./prefix-groups.ts";

/** Consecutive tokens of the token list. */
export interface Segment {
  readonly start: number;
  readonly length: number;
}

/** The part of a group's prefix that precedes a row's own tokens. */
export interface RowPrefix {
  /** Index of the prefix in `prefixes_G`. */
  readonly prefix: number;
  readonly length: number;
}

export interface PackLayout<Sequence extends PackedSequence> {
  readonly kind: Pack<Sequence>["kind"];
  readonly tokenIds_L: readonly number[];
  /** For each token of the list, its 0-based position in its own sequence. */
  readonly positions_L: readonly number[];
  /** The prefix of each group; empty in a pack without prefixes. */
  readonly prefixes_G: readonly Segment[];
  /** For each row, the tokens that follow its prefix. */
  readonly rows_R: readonly Segment[];
  /** For each row, its prefix; empty in a pack without prefixes. */
  readonly prefixOfRow_R: readonly RowPrefix[];
  /** The training sequences, in the order of the rows. */
  readonly sequences_S: readonly Sequence[];
  /** The trained tokens of all sequences, in order. */
  readonly trained_N: readonly TrainedToken[];
}

/** A trained token, and the token of the list whose output predicts it. */
export interface TrainedToken {
  /** Index of the trained token's sequence in the pack. */
  readonly sequence: number;
  /** Index of the trained token in its sequence. */
  readonly index: number;
  /**
   * Index, in the token list, of the token whose output predicts this one. It can be the same for trained tokens of
   * several sequences that share a prefix.
   */
  readonly place: number;
}

/** Lays out the tokens of a pack in one list. */
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

/** Rows of a common length, each a padded segment of the token list. */
export interface PaddedRows {
  readonly count: number;
  /** Common length of the rows, which is that of the longest segment. */
  readonly length: number;
  /** [count, length]: index of each token in the token list. Padding repeats the last index of the row's segment. */
  readonly ids: readonly number[];
}

/** Pads segments on the right to the length of the longest. Requires at least one segment. */
export function paddedRows(segments: readonly Segment[]): PaddedRows {
  const length = Math.max(...segments.map((segment) => segment.length));
  const ids = segments.flatMap((segment) =>
    Array.from({ length }, (_, index) => segment.start + Math.min(index, segment.length - 1)),
  );
  return { count: segments.length, length, ids };
}

/**
 * Pads each part of the list to rows of equal length, and concatenates the parts. Returns the new position of each
 * token of the list.
 *
 * @param parts segments that together are the whole list, in order; each part is padded to its own length
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

  /** Appends the tokens from index `start` on, and returns their segment. */
  append(tokenIds: Int32Array, start = 0): Segment {
    const segment = { start: this.tokenIds_L.length, length: tokenIds.length - start };
    for (let position = start; position < tokenIds.length; position++) {
      this.tokenIds_L.push(tokenIds[position]);
      this.positions_L.push(position);
    }
    return segment;
  }
}
