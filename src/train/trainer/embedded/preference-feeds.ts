// Computes the program inputs of a preference loss for each microbatch: the factor of each token in the margin of its
// preference, and the other microbatches' contribution to that margin. The trainer passes in the log-probabilities.
import { present } from "../../../base/domain/assert.ts";
import { type Tensor, float32Tensor, int64Tensor } from "../../../lib/graph/tensor.ts";
import { logRatioOf, marginFactors, preferenceWeight, referencePointOf } from "../losses/preference.ts";
import type { PackLayout } from "../packing/pack-layout.ts";
import { type PreferenceLossConfig, type TrainingSequence, hasReference } from "../trainer.ts";

/** Quantities of a whole batch that are needed to compute the preference loss of one microbatch. */
export interface PreferenceTerms {
  readonly config: PreferenceLossConfig;
  /** The first sequence of each preference in the batch; the key is the preference's index. */
  readonly firsts: ReadonlyMap<number, TrainingSequence>;
  /** For each sequence, the factor with which its tokens count in the margin of its preference. */
  readonly factors: ReadonlyMap<TrainingSequence, number>;
  /**
   * Contribution of each sequence to the margin of its preference. Contains only the sequences of preferences that span
   * several microbatches.
   */
  readonly margins: ReadonlyMap<TrainingSequence, number>;
}

/**
 * Computes the quantities of a batch that the preference loss of each microbatch needs.
 *
 * @param logprobs log-probabilities of the sequences whose preferences span several microbatches
 */
export function preferenceTerms(
  data: readonly TrainingSequence[],
  config: PreferenceLossConfig,
  logprobs: ReadonlyMap<TrainingSequence, Float32Array>,
): PreferenceTerms {
  const numbers = marginFactors(data, config);
  const factors = new Map(data.map((sequence, row) => [sequence, numbers[row]]));
  const margins = [...logprobs].map(
    ([sequence, values]) =>
      [sequence, factorOf({ factors }, sequence) * logRatioOf(sequence, values, config)] as const,
  );
  return { config, firsts: firstSequences(data), factors, margins: new Map(margins) };
}

/** Returns the input tensors of a preference loss for one microbatch. `preferenceLoss` declares these inputs. */
export function preferenceFeeds(
  { sequences_S, trained_N }: Pick<PackLayout<TrainingSequence>, "sequences_S" | "trained_N">,
  terms: PreferenceTerms,
): Record<string, Tensor> {
  const { config, firsts, margins } = terms;
  const indices = indicesOf(sequences_S);
  const places = new Map(indices.map((index, place) => [index, place]));
  const first = indices.map((index) => present(firsts.get(index), "the first sequence of a preference"));
  const here = new Set(sequences_S);
  const elsewhere = indices.map((_, place) => -referencePointOf(first[place]));
  for (const [sequence, margin] of margins) {
    const place = here.has(sequence) ? undefined : places.get(sequence.preference?.index ?? -1);
    if (place !== undefined) elsewhere[place] += margin;
  }
  const floats = (values: readonly number[]): Tensor =>
    float32Tensor([values.length], Float32Array.from(values));
  const ofTokens = (value: (sequence: TrainingSequence, index: number) => number): readonly number[] =>
    trained_N.map(({ sequence, index }) => value(sequences_S[sequence], index));
  return {
    preference_indices: int64Tensor(
      [trained_N.length],
      ofTokens(({ preference }) => present(places.get(preference?.index ?? -1), "a preference's place")),
    ),
    margin_factors: floats(ofTokens((sequence) => factorOf(terms, sequence))),
    margins_elsewhere: floats(elsewhere),
    preference_weights: floats(first.map((sequence) => preferenceWeight(sequence, config) / firsts.size)),
    ...(hasReference({ kind: "preference", config })
      ? {
          reference_logprobs: floats(
            ofTokens(({ referenceLogprobs }, index) => referenceLogprobs?.[index] ?? NaN),
          ),
        }
      : {}),
  };
}

function firstSequences(data: readonly TrainingSequence[]): ReadonlyMap<number, TrainingSequence> {
  const firsts = new Map<number, TrainingSequence>();
  for (const sequence of data) {
    const { index } = present(sequence.preference, "the preference of a sequence");
    if (!firsts.has(index)) firsts.set(index, sequence);
  }
  return firsts;
}

/** Returns the index of each preference that the sequences belong to, in order of first appearance. */
export function indicesOf(sequences: readonly Pick<TrainingSequence, "preference">[]): readonly number[] {
  return [...new Set(sequences.flatMap(({ preference }) => preference?.index ?? []))];
}

/** Returns the indices of the preferences whose sequences are in more than one part of the batch. */
export function sharedIndices(
  parts: readonly (readonly Pick<TrainingSequence, "preference">[])[],
): ReadonlySet<number> {
  const known = new Set<number>();
  const shared = new Set<number>();
  for (const index of parts.flatMap(indicesOf)) (known.has(index) ? shared : known).add(index);
  return shared;
}

function factorOf({ factors }: Pick<PreferenceTerms, "factors">, sequence: TrainingSequence): number {
  return present(factors.get(sequence), "the factor of a sequence");
}
