// Number of cases and seed of randomized tests: few cases from a fixed seed in `npm test`, and more from another seed
// in `npm run proof`. This is the only module that reads TEST_SEED and TEST_TIMES.
import { seededRandom, shuffled } from "../random.ts";

const usualSeed = 20_261_122;

/** Seed of the random values in tests. */
export const searchSeed = numberOf("TEST_SEED") ?? usualSeed;

const times = numberOf("TEST_TIMES") ?? 1;

/**
 * Returns a number of cases, scaled to the length of this run.
 *
 * @param sample number of cases in `npm test`
 */
export function searchCount(sample: number): number {
  return sample * times;
}

/**
 * Returns parameters for fast-check.
 *
 * @param sample number of cases in `npm test`
 */
export function searching(sample: number): { readonly seed: number; readonly numRuns: number } {
  return { seed: searchSeed, numRuns: searchCount(sample) };
}

/**
 * Returns one seed for each case: 1, 2 and so on in `npm test`, or beginning at TEST_SEED.
 *
 * @param sample number of cases in `npm test`
 */
export function searchSeeds(sample: number): readonly number[] {
  const first = numberOf("TEST_SEED") ?? 1;
  return Array.from({ length: searchCount(sample) }, (_, index) => first + index);
}

/**
 * Chooses `sample` of the slow cases in `npm test`, and more of them in `npm run proof`. A different seed chooses
 * different cases.
 *
 * @param topic subject of the cases, if several tests choose from the same cases
 */
export function searchedOf<T>(cases: readonly T[], sample: number, topic = ""): readonly T[] {
  const random = seededRandom("cases", topic, searchSeed);
  const chosen = new Set(shuffled(random, cases).slice(0, searchCount(sample)));
  return cases.filter((each) => chosen.has(each));
}

/** Option for slow tests that run only in `npm run proof`. In `npm test`, faster tests find the same faults. */
export const inProof = { skip: times > 1 ? false : "in npm run proof" };

function numberOf(name: string): number | null {
  const text = process.env[name];
  if (text === undefined) return null;
  if (/^[1-9][0-9]{0,9}$/.test(text)) return Number(text);
  throw new Error(`${name} is ${JSON.stringify(text)}; it must be a whole number from 1 to 9999999999.`);
}
