// How much the tests that search try, and which: in `npm test` a sample, the same each time; in `npm run proof` more of
// it, drawn from another seed. The one place that reads TEST_SEED and TEST_TIMES; says nothing of what is searched.
import { seededRandom, shuffled } from "../random.ts";

const usualSeed = 20_261_122;

/** What random values are drawn from. */
export const searchSeed = numberOf("TEST_SEED") ?? usualSeed;

const times = numberOf("TEST_TIMES") ?? 1;

/** How many are tried where the sample has so many, and how many of them must have been of use. */
export function searchCount(sample: number): number {
  return sample * times;
}

/** Parameters of fast-check: so many runs in the sample. */
export function searching(sample: number): { readonly seed: number; readonly numRuns: number } {
  return { seed: searchSeed, numRuns: searchCount(sample) };
}

/** Seeds of cases that each have their own: 1, 2 and so on in the sample, or from TEST_SEED on. */
export function searchSeeds(sample: number): readonly number[] {
  const first = numberOf("TEST_SEED") ?? 1;
  return Array.from({ length: searchCount(sample) }, (_, index) => first + index);
}

/**
 * Of cases that take long, so many in the sample: others with another seed, and all where so many are asked for.
 *
 * @param topic what the cases are of, where the same ones are chosen from again and again
 */
export function searchedOf<T>(cases: readonly T[], sample: number, topic = ""): readonly T[] {
  const random = seededRandom("cases", topic, searchSeed);
  const chosen = new Set(shuffled(random, cases).slice(0, searchCount(sample)));
  return cases.filter((each) => chosen.has(each));
}

/** For a test that takes long, and whose faults others find in the sample too: it runs where more than the sample is tried. */
export const inProof = { skip: times > 1 ? false : "in npm run proof" };

function numberOf(name: string): number | null {
  const text = process.env[name];
  if (text === undefined) return null;
  if (/^[1-9][0-9]{0,9}$/.test(text)) return Number(text);
  throw new Error(`${name} is ${JSON.stringify(text)}; it must be a whole number from 1 to 9999999999.`);
}
