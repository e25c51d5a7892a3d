// The whole example: writes conversations and trains the agent on them, then repeatedly lets the agent answer
// questions, computes rewards, and trains it on its attempts. It uses only HTTP, and prints nothing.
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
  /** Number of conversations to write for the supervised job; 0 to skip that job. */
  readonly demonstrationCount: number;
  readonly demonstrationEpochs: number;
  readonly supervisedRate: number;
  readonly roundCount: number;
  /** Number of questions in a round, and of attempts at each. */
  readonly questionCount: number;
  readonly groupSize: number;
  /** Sampling temperature of the attempts. */
  readonly temperature: number;
  readonly reinforcementRate: number;
  /** Number of concurrent conversations. */
  readonly parallel: number;
}

/** Measured skill of one version of the agent. */
export interface Point {
  /** `base`, `taught` (after the supervised job), or the number of rounds so far. */
  readonly stage: "base" | "taught" | number;
  /** Mean reward of the attempts that this version was trained on; null for a version that no round trained. */
  readonly sampledReward: number | null;
  /**
   * Mean reward and share of right answers on the test questions, which are never trained on. They are sampled with
   * the same options as attempts.
   */
  readonly testReward: number;
  readonly testRight: number;
  readonly elapsedMs: number;
}

export type LearnEvent =
  | { readonly kind: "point"; readonly point: Point }
  /** Example of a conversation: about a test question, and about a question of the round if there is one. */
  | { readonly kind: "example"; readonly of: "test" | "tries"; readonly episode: Episode };

export interface LearnResult {
  /** Name of the model: `entity/project/name`. */
  readonly model: string;
  readonly points: readonly Point[];
}

const testQuestionCount = 36;

/** Number of attempts at each test question. A single sampled answer may be right or wrong by chance. */
const testTryCount = 4;

/** Number of conversations in a step of the supervised job. */
const batchSize = 4;

/**
 * Trains an agent on conversations and then on its own attempts. Emits its measured skill after each stage.
 *
 * @throws HoneError if the server refuses a request, or a job fails
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
        // The last question is of the hardest kind. The examples are from it.
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
      // On average, a step per question. The attempts at a question share its prompt, which is then computed only
      // once.
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
  /** Test questions, which are never trained on. */
  readonly tests: readonly Question[];
}

/** Runs the supervised job on conversations about the market, none of them about a test question. */
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
      // The learning rate falls to zero linearly, so that the last steps make only small corrections.
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
