// Measures the gain from packing: trains on several answers to one prompt, computing the prompt once, or once per
// answer. Also compares sequences of mixed lengths with sequences of one length and as many tokens. All variants take
// turns in one run, and the best time of each counts.
import { type Random, seededRandom } from "../../src/base/domain/random.ts";
import type { TrainingSequence } from "../../src/train/trainer/trainer.ts";
import { GradientTimer, turnAbout } from "./gradient-timer.ts";
import { type BenchOptions, runBench } from "./run-bench.ts";
import { type Subject, subjects } from "./subjects.ts";

const help = `Usage: node dist/tools/bench/packed-step.js [flags]
Times LoRA gradients (rank 8, all seven projections) with microbatches of at most 2048 tokens. Common prefixes of sequences are
computed once, or separately for each sequence:
  group    16 answers of 64 tokens to one prompt of 512
  prompts  8 groups of 8 answers of 4 to 12 tokens to prompts of 20 to 40
  turns    4 trajectories of 3 histories, each of which continues most of the one before
Also compares sequences of 8 to 248 tokens without common prefixes to the same number of sequences of 128 tokens.`;

const loads = { group, prompts, turns } as const;

interface Measurement {
  readonly name: string;
  readonly tokenCount: number;
  readonly sharedMs: number;
  readonly separateMs: number;
  /** Speed-up factor. */
  readonly ratio: number;
}

await runBench<Measurement>({
  script: import.meta.url,
  help,
  measure: async (options) => {
    const measurements: Measurement[] = [];
    for await (const subject of subjects(options)) {
      for (const [name, load] of Object.entries(loads))
        measurements.push(await compare(`${subject.name}, ${name}`, subject, options, load(subject)));
      measurements.push(await compareLengths(subject, options));
    }
    return measurements;
  },
  textOf: ({ name, tokenCount, sharedMs, separateMs, ratio }) =>
    `${name}: ${tokenCount} tokens, ${sharedMs.toFixed(0)} ms, ${separateMs.toFixed(0)} ms, ratio ${ratio.toFixed(2)}`,
});

/** Times the same sequences twice: with their common prefix computed once, and with it computed for each sequence. */
async function compare(
  name: string,
  subject: Subject,
  options: BenchOptions,
  batch: readonly TrainingSequence[],
): Promise<Measurement> {
  const shared = new GradientTimer(subject, options, { sharesPrefixes: true });
  const separate = new GradientTimer(subject, options, { sharesPrefixes: false });
  await turnAbout(options, [
    [shared, batch],
    [separate, batch],
  ]);
  return measurementOf(name, batch, shared, separate);
}

/**
 * Compares sequences of mixed lengths with as many sequences of their mean length. A ratio above 1 means that the mixed
 * ones are faster.
 */
async function compareLengths(subject: Subject, options: BenchOptions): Promise<Measurement> {
  const random = seededRandom("mixed lengths");
  const mixed = Array.from({ length: 31 }, (_, index) =>
    sequence({ promptIds: [], answerIds: ids(random, subject, 8 * (index + 1)) }),
  );
  const even = mixed.map(() => sequence({ promptIds: [], answerIds: ids(random, subject, 128) }));
  const ofMixed = new GradientTimer(subject, options, { sharesPrefixes: true });
  const ofEven = new GradientTimer(subject, options, { sharesPrefixes: true });
  await turnAbout(options, [
    [ofMixed, mixed],
    [ofEven, even],
  ]);
  return measurementOf(`${subject.name}, mixed lengths beside one`, mixed, ofMixed, ofEven);
}

function measurementOf(
  name: string,
  batch: readonly TrainingSequence[],
  one: GradientTimer,
  other: GradientTimer,
): Measurement {
  const tokenCount = batch.reduce((count, { tokenIds }) => count + tokenIds.length, 0);
  return {
    name,
    tokenCount,
    sharedMs: one.bestMs,
    separateMs: other.bestMs,
    ratio: other.bestMs / one.bestMs,
  };
}

function group(subject: Subject): readonly TrainingSequence[] {
  const random = seededRandom("group");
  const promptIds = ids(random, subject, 512);
  return Array.from({ length: 16 }, () => sequence({ promptIds, answerIds: ids(random, subject, 64) }));
}

function prompts(subject: Subject): readonly TrainingSequence[] {
  const random = seededRandom("prompts");
  return Array.from({ length: 8 }, () => {
    const promptIds = ids(random, subject, 20 + random.index(21));
    return Array.from({ length: 8 }, () =>
      sequence({ promptIds, answerIds: ids(random, subject, 4 + random.index(9)) }),
    );
  }).flat();
}

function turns(subject: Subject): readonly TrainingSequence[] {
  const random = seededRandom("turns");
  const promptIds = ids(random, subject, 100);
  return Array.from({ length: 4 }, () => {
    const histories: TrainingSequence[] = [];
    let before = promptIds;
    for (let turn = 0; turn < 3; turn++) {
      const thought = ids(random, subject, 40);
      histories.push(sequence({ promptIds: before, answerIds: thought }));
      // The next turn's history contains the answer but not the thought before it.
      before = [...before, ...ids(random, subject, 120)];
    }
    return histories;
  }).flat();
}

function ids(random: Random, { config }: Subject, count: number): readonly number[] {
  return Array.from({ length: count }, () => random.index(config.vocabularySize));
}

/** Returns a sequence in which the answer's tokens are trained. */
function sequence({
  promptIds,
  answerIds,
}: Record<"promptIds" | "answerIds", readonly number[]>): TrainingSequence {
  const tokenIds = Int32Array.of(...promptIds, ...answerIds);
  return {
    tokenIds,
    mask: Uint8Array.from(tokenIds, (_, index) => (index >= Math.max(promptIds.length, 1) ? 1 : 0)),
    oldLogprobs: new Float32Array(tokenIds.length).fill(NaN),
    advantage: promptIds.length % 2 === 0 ? 1 : -1,
    weight: 1,
    group: 0,
  };
}
