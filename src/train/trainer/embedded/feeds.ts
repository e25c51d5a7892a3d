// Turns laid-out packs of training sequences into the input tensors of the training programs.
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import { chunkSize } from "../../../lib/graph/delta.ts";
import { type Tensor, float32Tensor, int64Tensor } from "../../../lib/graph/tensor.ts";
import {
  type PackLayout,
  type Segment,
  type TrainedToken,
  paddedRows,
  placesInRows,
} from "../packing/pack-layout.ts";
import { type Loss, type TrainingSequence, hasKlPenalty, targetsOf } from "../trainer.ts";
import { needsOldLogprobs, needsSequences } from "./loss.ts";
import { indicesOf, type PreferenceTerms, preferenceFeeds } from "./preference-feeds.ts";
import { recurrenceOf } from "../../../inference/architectures/recurrent/recurrence.ts";

/** The part of a batch that one run of a training program computes. */
export type Microbatch = PackLayout<TrainingSequence>;

/** Microbatches that are computed at the same time; if there are several, each has its own program and threads. */
export type Round = readonly Microbatch[];

/**
 * Returns the input tensors that every training program needs: the tokens and their positions. `tokenInputs` declares
 * these inputs.
 */
export function tokenFeeds(
  layout: Microbatch,
  config: Pick<ModelConfig, "delta" | "mamba">,
): Record<string, Tensor> {
  const { kind, sequences_S, trained_N } = layout;
  return {
    ...(kind === "rows" ? rowFeeds(layout) : listFeeds(layout)),
    ...(kind === "prefixed" ? prefixFeeds(layout) : {}),
    ...(recurrenceOf(config) !== null && { chunks: vector(Array<number>(chunkCount(layout)).fill(0)) }),
    places: vector(trained_N.map(({ place }) => place)),
    targets: vector(trained_N.map(({ sequence, index }) => targetsOf(sequences_S[sequence])[index])),
  };
}

function rowFeeds({ tokenIds_L, rows_R }: Microbatch): Record<string, Tensor> {
  return { tokens: int64Tensor([rows_R.length, rows_R[0].length], tokenIds_L) };
}

function listFeeds({ tokenIds_L, positions_L, prefixes_G, rows_R }: Microbatch): Record<string, Tensor> {
  const rows = paddedRows(rows_R);
  return {
    tokens: vector(tokenIds_L),
    positions: vector(positions_L),
    rows: int64Tensor([rows.count, rows.length], rows.ids),
    row_places: vector(placesInRows([prefixes_G, rows_R])),
  };
}

/**
 * Returns the number of chunks into which a recurrence (delta rule or Mamba-2) divides the longest row after the longest
 * prefix.
 */
function chunkCount({ prefixes_G, rows_R }: Microbatch): number {
  return Math.ceil((longestOf(prefixes_G) + longestOf(rows_R)) / chunkSize);
}

/**
 * True if each token's output predicts at most one trained token. If sequences share a prefix, the output of its last
 * token may predict several.
 */
export function arePlacesDistinct({ trained_N }: Microbatch): boolean {
  return new Set(trained_N.map(({ place }) => place)).size === trained_N.length;
}

/**
 * Returns an input tensor that gives, for each token of the list, the index of the trained token that its output
 * predicts, or N if it predicts none. Requires `arePlacesDistinct`.
 */
export function wantedFeeds({ tokenIds_L, trained_N }: Microbatch): Record<string, Tensor> {
  const wanted = new BigInt64Array(tokenIds_L.length).fill(BigInt(trained_N.length));
  for (const [index, { place }] of trained_N.entries()) wanted[place] = BigInt(index);
  return { wanted_of_place: { dtype: "int64", dims: [wanted.length], data: wanted } };
}

/** Returns the sizes of a microbatch's tensors, by the symbols that training programs use for their dimensions. */
export function sizesOf(layout: Microbatch): ReadonlyMap<string, number> {
  const { tokenIds_L, prefixes_G, rows_R, sequences_S, trained_N } = layout;
  return new Map([
    ["L", tokenIds_L.length],
    ["G", prefixes_G.length],
    ["P", longestOf(prefixes_G)],
    ["R", rows_R.length],
    ["T", longestOf(rows_R)],
    ["U", chunkCount(layout)],
    ["N", trained_N.length],
    ["S", sequences_S.length],
    ["Q", indicesOf(sequences_S).length],
  ]);
}

/** Returns the length of the longest segment in tokens; 0 if there is none. */
function longestOf(segments: readonly Segment[]): number {
  return Math.max(0, ...segments.map(({ length }) => length));
}

function prefixFeeds({ prefixes_G, prefixOfRow_R }: Microbatch): Record<string, Tensor> {
  const prefixes = paddedRows(prefixes_G);
  const prefixOfRow_RG = new Float32Array(prefixOfRow_R.length * prefixes.count);
  prefixOfRow_R.forEach(({ prefix }, row) => (prefixOfRow_RG[row * prefixes.count + prefix] = 1));
  return {
    prefixes: int64Tensor([prefixes.count, prefixes.length], prefixes.ids),
    prefix_of_row: float32Tensor([prefixOfRow_R.length, prefixes.count], prefixOfRow_RG),
    prefix_lengths: vector(prefixOfRow_R.map(({ length }) => length)),
  };
}

/** Quantities of the whole batch that are needed to compute the loss of one of its microbatches. */
export interface BatchTerms {
  readonly loss: Loss;
  /** Number of trained tokens in the whole batch, by which each microbatch divides its loss. */
  readonly tokenCount: number;
  /**
   * Sum of the log ratios of policy to base model over the trained tokens of the batch's other microbatches; 0 without
   * a KL penalty.
   */
  readonly klElsewhere: number;
  /** Quantities that only a preference loss needs; null for other losses. */
  readonly preferences: PreferenceTerms | null;
}

/** Returns the input tensors of a loss. `addLoss` declares these inputs. */
export function lossFeeds(
  { sequences_S, trained_N }: Microbatch,
  { loss, tokenCount, klElsewhere, preferences }: BatchTerms,
): Record<string, Tensor> {
  const floats = (value: (sequence: TrainingSequence, token: TrainedToken) => number): Tensor =>
    float32Tensor(
      [trained_N.length],
      Float32Array.from(trained_N, (token) => value(sequences_S[token.sequence], token)),
    );
  const weightOf = ({ weight, tokenWeights }: TrainingSequence, { index }: TrainedToken): number =>
    weight * (tokenWeights?.[index] ?? 1);
  const weights = {
    loss_weights: floats((sequence, token) => weightOf(sequence, token) / (tokenCount + 1e-6)),
  };
  if (preferences !== null)
    return { ...weights, ...preferenceFeeds({ sequences_S, trained_N }, preferences) };
  if (!needsOldLogprobs(loss)) return weights;
  const isKnown = ({ sequence, index }: TrainedToken): boolean =>
    !Number.isNaN(sequences_S[sequence].oldLogprobs[index]);
  return {
    ...weights,
    old_logprobs: floats(({ oldLogprobs }, token) => (isKnown(token) ? oldLogprobs[token.index] : 0)),
    is_old_known: {
      dtype: "bool",
      dims: [trained_N.length],
      data: Uint8Array.from(trained_N, (token) => (isKnown(token) ? 1 : 0)),
    },
    advantages: floats(({ advantage }) => advantage),
    ...(needsSequences(loss) ? sequenceFeeds({ sequences_S, trained_N }) : {}),
    ...(hasKlPenalty(loss)
      ? {
          reference_logprobs: floats(({ referenceLogprobs }, { index }) => referenceLogprobs?.[index] ?? NaN),
          kl_share: float32Tensor([1], Float32Array.of(1 / tokenCount)),
          kl_elsewhere: float32Tensor([1], Float32Array.of(klElsewhere / tokenCount)),
        }
      : {}),
  };
}

function sequenceFeeds({
  sequences_S,
  trained_N,
}: Pick<Microbatch, "sequences_S" | "trained_N">): Record<string, Tensor> {
  const sizes_S = new Float32Array(sequences_S.length).fill(1e-8);
  for (const { sequence } of trained_N) sizes_S[sequence] += 1;
  return {
    sequence_indices: vector(trained_N.map(({ sequence }) => sequence)),
    sequence_sizes: float32Tensor([sequences_S.length], sizes_S),
  };
}

/** Splits the values of a microbatch's N trained tokens into one array per sequence, in the order of `sequences_S`. */
export function splitBySequence(
  { sequences_S, trained_N }: Pick<Microbatch, "sequences_S" | "trained_N">,
  values_N: Float32Array,
): readonly Float32Array[] {
  const counts_S = sequences_S.map(() => 0);
  for (const { sequence } of trained_N) counts_S[sequence] += 1;
  let start = 0;
  return counts_S.map((count) => {
    const values = values_N.slice(start, start + count);
    start += count;
    return values;
  });
}

function vector(values: readonly number[]): Tensor {
  return int64Tensor([values.length], values);
}
