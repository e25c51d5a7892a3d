// The example as a story: write conversations and teach them, then let the agent try, judge it, and train it on its
// tries, round after round. Uses only HTTP; knows nothing of terminals.
import type { Clock } from "../../src/base/domain/clock.ts";
import { seededRandom } from "../../src/base/domain/random.ts";
import type { Hone } from "../../src/apps/client/hone.ts";
import type { Model } from "../../src/apps/client/trained-model.ts";
import type { Validation } from "../../src/apps/client/training/round-report.ts";
import { train, type TrainResult } from "../../src/apps/client/training/train.ts";
import { demonstrate } from "./demonstrations.ts";
import { type Episode, isRight, rewardOf, runEpisode } from "./episode.ts";
import { type Market, openMarket, tools } from "./market.ts";
import { drawQuestions, type Question } from "./questions.ts";

export interface LearnOptions {
  readonly baseModel: string;
  readonly project: string;
  readonly name: string;
  readonly seed: number;
  /** Number of conversations to write for the supervised job; 0 skips it. */
  readonly demonstrationCount: number;
  readonly demonstrationEpochs: number;
  readonly supervisedRate: number;
  readonly roundCount: number;
  /** Number of questions in a round, and of tries of each. */
  readonly questionCount: number;
  readonly groupSize: number;
  /** Sampling temperature of the tries. */
  readonly temperature: number;
  readonly reinforcementRate: number;
  /** Number of concurrent conversations. */
  readonly parallel: number;
}

/** The agent's skill at one version. */
export interface Point {
  /** `base`, `taught` by conversations, or the number of rounds behind it. */
  readonly stage: "base" | "taught" | number;
  /** Mean reward of the tries that trained it; null for a version that no round made. */
  readonly sampledReward: number | null;
  /** Mean reward and part of right answers to questions that are never trained on, sampled as the tries are. */
  readonly testReward: number;
  readonly testRight: number;
  readonly elapsedMs: number;
}

export type LearnEvent =
  | { readonly kind: "point"; readonly point: Point }
  /** A conversation of the test, and one of the tries where there are any. */
  | { readonly kind: "example"; readonly of: "test" | "tries"; readonly episode: Episode };

export interface LearnResult {
  /** `entity/project/name` */
  readonly model: string;
  readonly points: readonly Point[];
}

const testQuestionCount = 36;

/** Number of tries of each test question, since a sampled answer may be right or wrong by chance. */
const testTryCount = 4;

/** Conversations of a step of the supervised job. */
const batchSize = 4;

/**
 * Teaches an agent and trains it, and says after each stage what it can do.
 *
 * @throws HoneError when the server refuses something, or a job fails
 */
export async function learn(
  client: Hone,
  clock: Clock,
  options: LearnOptions,
  emit: (event: LearnEvent) => void,
): Promise<LearnResult> {
  const startedAtMs = clock.monotonicMs();
  const market = openMarket(seededRandom("market", options.seed));
  const tests = drawQuestions(seededRandom("tests", options.seed), market, { count: testQuestionCount });
  const model = await client.model(`${options.project}/${options.name}`, { base: options.baseModel });
  const examples = new Map<"test" | "tries", Episode>();
  const points: Point[] = [];
  const show = (stage: Point["stage"], sampledReward: number | null, tested: Validation): void => {
    const testRight = tested.metrics["val/right"] ?? 0;
    const elapsedMs = clock.monotonicMs() - startedAtMs;
    points.push({ stage, sampledReward, testReward: tested.reward, testRight, elapsedMs });
    emit({ kind: "point", point: points[points.length - 1] });
    for (const [of, episode] of examples) emit({ kind: "example", of, episode });
    examples.clear();
  };
  const practise = (stage: "base" | "taught", rounds: number): Promise<TrainResult> => {
    const { questionCount: count, reinforcementRate, groupSize } = options;
    return train(model, {
      tasks: (round) =>
        drawQuestions(seededRandom("round", options.seed, round), market, { count, except: textsOf(tests) }),
      rollout: async (question, trajectory) => {
        const episode = await runEpisode(trajectory, market, question);
        const isTest = tests.includes(question);
        // The last question of either is of the hardest sort.
        if (!isTest || question === tests.at(-1)) examples.set(isTest ? "test" : "tries", episode);
        return {
          reward: rewardOf(episode),
          metrics: { right: isRight(episode), calls: episode.results.length },
        };
      },
      groupSize,
      rounds,
      seed: options.seed,
      concurrency: options.parallel,
      request: { temperature: options.temperature },
      // A step for each question on the average: the tries of one share its prompt, which is then computed once.
      config: { learning_rate: reinforcementRate, batch_size: groupSize },
      validation: { tasks: tests, tries: testTryCount },
      display: false,
      onEvent: (event) => {
        if (event.type === "version-validated" && event.round === 0) show(stage, null, event.validation);
        if (event.type !== "round-ended" || event.report.validation === null) return;
        show(event.report.round + 1, event.report.reward, event.report.validation);
      },
    });
  };

  if (options.demonstrationCount > 0) {
    await practise("base", 0);
    await teach({ client, market, options, model, tests });
    await practise("taught", options.roundCount);
  } else await practise("base", options.roundCount);
  return { model: model.name, points };
}

interface Agent {
  readonly client: Hone;
  readonly market: Market;
  readonly options: LearnOptions;
  readonly model: Model;
  /** The questions that are never trained on. */
  readonly tests: readonly Question[];
}

/** The supervised job: conversations with the market, none of them about a question of the test. */
async function teach({ client, market, options, model, tests }: Agent): Promise<void> {
  const random = seededRandom("demonstrations", options.seed);
  const questions = drawQuestions(random, market, {
    count: options.demonstrationCount,
    except: textsOf(tests),
  });
  const { demonstrationEpochs: epochs, supervisedRate } = options;
  const batchCount = Math.ceil(questions.length / batchSize) * epochs;
  const { id: jobId } = await client.jobs.createSupervised({
    model_id: model.id,
    training_data: questions.map((question) => ({ messages: demonstrate(question), tools })),
    config: {
      // Falls to zero, so that the last steps settle what the first ones found.
      learning_rate: Array.from(
        { length: batchCount },
        (_, index) => supervisedRate * (1 - index / batchCount),
      ),
      epochs,
      batch_size: batchSize,
    },
  });
  await client.jobs.wait(jobId);
}

function textsOf(questions: readonly Question[]): ReadonlySet<string> {
  return new Set(questions.map(({ text }) => text));
}
