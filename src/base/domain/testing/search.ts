// Size and seed of randomized tests: a fixed sample in `npm test`, and more cases from another seed in `npm run
// proof`. The only module that reads TEST_SEED and TEST_TIMES.
import { seededRandom, shuffled } from "../random.ts";

const usualSeed = 20_261_122;

/** Seed of random values. */
export const searchSeed = numberOf("TEST_SEED") ?? usualSeed;

const times = numberOf("TEST_TIMES") ?? 1;

/** Returns how many cases to try, and how many of them must have been useful, given the number in the sample. */
export function searchCount(sample: number): number {
  return sample * times;
}

/** Returns parameters of fast-check, given the number of runs in the sample. */
export function searching(sample: number): { readonly seed: number; readonly numRuns: number } {
  return { seed: searchSeed, numRuns: searchCount(sample) };
}

/** Returns seeds for cases with one seed each: 1, 2 and so on in the sample, or from TEST_SEED on. */
export function searchSeeds(sample: number): readonly number[] {
  const first = numberOf("TEST_SEED") ?? 1;
  return Array.from({ length: searchCount(sample) }, (_, index) => first + index);
}

/**
 * Chooses among slow cases: `sample` of them in the sample, others with another seed, and all if enough are requested.
 *
 * @param topic subject of the cases, if several tests choose from the same cases
 */
export function searchedOf<T>(cases: readonly T[], sample: number, topic = ""): readonly T[] {
  const random = seededRandom("cases", topic, searchSeed);
  const chosen = new Set(shuffled(random, cases).slice(0, searchCount(sample)));
  return cases.filter((each) => chosen.has(each));
}

/** Option of slow tests whose faults other tests also find in the sample: they run only in `npm run proof`. */
export const inProof = { skip: times > 1 ? false : "in npm run proof" };

function numberOf(name: string): number | null {
  const text = process.env[name];
  if (text === undefined) return null;
  if (/^[1-9][0-9]{0,9}$/.test(text)) return Number(text);
  throw new Error(`${name} is ${JSON.stringify(text)}; it must be a whole number from 1 to 9999999999.`);
}
