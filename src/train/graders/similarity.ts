// Similarity of two texts, from 0 to 1, as Python's reference libraries compute it: NLTK's BLEU and GLEU, rouge-score's
// ROUGE without stemming, and RapidFuzz's ratio. Recorded values of these libraries are in the test.
import { ServiceError } from "../../base/domain/service-error.ts";
import type { SimilarityMetric } from "../../base/domain/fine-tuning/grader.ts";

/**
 * Maximum product of the lengths of two lists that are compared item by item. At this product, a comparison takes about
 * 50 ms.
 */
const comparisonsMax = 16_000_000;

type Similarity = (reference: string, text: string) => number;

export const similarities: { readonly [Metric in SimilarityMetric]: Similarity } = {
  fuzzy_match: fuzzyMatch,
  bleu: (reference, text) => bleu(words(reference), words(text)),
  gleu: (reference, text) => gleu(words(reference), words(text)),
  rouge_1: rougeN(1),
  rouge_2: rougeN(2),
  rouge_3: rougeN(3),
  rouge_4: rougeN(4),
  rouge_5: rougeN(5),
  rouge_l: (reference, text) => {
    const [target, prediction] = [rougeWords(reference), rougeWords(text)];
    if (target.length === 0 || prediction.length === 0) return 0;
    return fMeasure(commonLength(target, prediction), target.length, prediction.length);
  },
};

/** Returns a similarity that decreases with each character to insert or delete; 1 for equal texts. */
function fuzzyMatch(reference: string, text: string): number {
  const [first, second] = [Array.from(reference), Array.from(text)];
  const total = first.length + second.length;
  return total === 0 ? 1 : (2 * commonLength(first, second)) / total;
}

function words(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

/** BLEU with orders 1 to 4, equal weights and no smoothing. */
function bleu(reference: readonly string[], text: readonly string[]): number {
  let sum = 0;
  for (let order = 1; order <= 4; order++) {
    const { common, ofText } = overlap(reference, text, order);
    if (order === 1 && common === 0) return 0;
    // NLTK uses the smallest positive normal number in place of 0.
    sum += 0.25 * Math.log(common === 0 ? 2.2250738585072014e-308 : common / Math.max(1, ofText));
  }
  const isShort = text.length <= reference.length;
  const brevity = isShort ? Math.exp(1 - reference.length / text.length) : 1;
  return brevity * Math.exp(sum);
}

/** Google's BLEU with orders 1 to 4. */
function gleu(reference: readonly string[], text: readonly string[]): number {
  let [common, total] = [0, [0, 0]];
  for (let order = 1; order <= 4; order++) {
    const counts = overlap(reference, text, order);
    common += counts.common;
    total = [total[0] + counts.ofReference, total[1] + counts.ofText];
  }
  const largest = Math.max(...total);
  return largest === 0 ? 0 : common / largest;
}

function rougeN(order: number): Similarity {
  return (reference, text) => {
    const { common, ofReference, ofText } = overlap(rougeWords(reference), rougeWords(text), order);
    return fMeasure(common, Math.max(ofReference, 1), Math.max(ofText, 1));
  };
}

function rougeWords(text: string): readonly string[] {
  return words(text.toLowerCase().replaceAll(/[^a-z0-9]+/g, " "));
}

function fMeasure(common: number, referenceCount: number, textCount: number): number {
  const [recall, precision] = [common / referenceCount, common / textCount];
  return recall + precision === 0 ? 0 : (2 * precision * recall) / (precision + recall);
}

/** Counts the sequences of `order` words in both texts, and those that they have in common. */
function overlap(reference: readonly string[], text: readonly string[], order: number) {
  const [expected, given] = [sequences(reference, order), sequences(text, order)];
  let common = 0;
  for (const [sequence, count] of given) common += Math.min(count, expected.get(sequence) ?? 0);
  return {
    common,
    ofReference: Math.max(0, reference.length - order + 1),
    ofText: Math.max(0, text.length - order + 1),
  };
}

function sequences(list: readonly string[], order: number): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (let start = 0; start + order <= list.length; start++) {
    const sequence = list.slice(start, start + order).join("\n");
    counts.set(sequence, (counts.get(sequence) ?? 0) + 1);
  }
  return counts;
}

/**
 * Returns the length of the longest common subsequence.
 *
 * @throws ServiceError `invalid` for texts that take too long to compare
 */
function commonLength(first: readonly string[], second: readonly string[]): number {
  if (first.length * second.length > comparisonsMax) {
    const message = `Texts with ${first.length} and ${second.length} parts are too long to compare; the product may be ${comparisonsMax}.`;
    throw new ServiceError({ code: "invalid", message });
  }
  let before = new Uint32Array(second.length + 1);
  for (const item of first) {
    const row = new Uint32Array(second.length + 1);
    for (let index = 0; index < second.length; index++)
      row[index + 1] = item === second[index] ? before[index] + 1 : Math.max(before[index + 1], row[index]);
    before = row;
  }
  return before[second.length];
}
