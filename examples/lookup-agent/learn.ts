// The example as a story: write conversations and teach them, then let the agent try, judge it, and train it on what it did,
// round after round. Over HTTP alone; knows nothing of terminals.
import type { Clock } from "../../src/domain/clock.ts";
import { seededRandom } from "../../src/domain/random.ts";
import type { Hone } from "../../src/client/hone.ts";
import type { Model } from "../../src/client/trained-model.ts";
import { demonstrate } from "./demonstrations.ts";
import { type Episode, isRight, rewardOf, runEpisode, trajectoryOf } from "./episode.ts";
import { type Market, openMarket, tools } from "./market.ts";
import { drawQuestions, type Question } from "./questions.ts";

export interface LearnOptions {
  readonly baseModel: string;
  readonly project: string;
  readonly name: string;
  readonly seed: number;
  /** Conversations that are written for the supervised job; none skips it. */
  readonly demonstrationCount: number;
  readonly demonstrationEpochs: number;
  readonly supervisedRate: number;
  readonly roundCount: number;
  /** Questions of a round, and how often each is tried. */
  readonly questionCount: number;
  readonly groupSize: number;
  /** At which they are sampled. */
  readonly temperature: number;
  readonly reinforcementRate: number;
  /** Conversations that run at once. */
  readonly parallel: number;
}

/** What the agent can do at one version. */
export interface Point {
  /** `base`, `taught` by conversations, or the number of rounds behind it. */
  readonly stage: "base" | "taught" | number;
  /** Mean reward of the tries; null at the base, which does not try. */
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

/** How often each of them is asked: a sampled answer is right by chance, and wrong. */
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
  const agent: Agent = { client, market, options, model, tests };
  const points: Point[] = [];
  const show = async (stage: Point["stage"], step: number, tries: readonly Episode[]): Promise<void> => {
    const asked = Array.from({ length: testTryCount }, () => tests).flat();
    const tested = await runAll(agent, step, asked, { temperature: options.temperature, seed: 0 });
    const point = { ...scoresOf(tested, tries), stage, elapsedMs: clock.monotonicMs() - startedAtMs };
    points.push(point);
    emit({ kind: "point", point });
    // The last question of either is of the hardest sort.
    for (const episode of tested.slice(-1)) emit({ kind: "example", of: "test", episode });
    for (const episode of tries.slice(-1)) emit({ kind: "example", of: "tries", episode });
  };

  await show("base", 0, []);
  let step = 0;
  if (options.demonstrationCount > 0) {
    await teach(agent);
    step = 1;
  }
  for (let round = 0; ; round++) {
    const groups = await tryAll(agent, step, round);
    await show(round === 0 ? "taught" : round, step, groups.flat());
    if (round === options.roundCount) return { model: model.name, points };
    if (await train(agent, groups)) step += 1;
  }
}

interface Agent {
  readonly client: Hone;
  readonly market: Market;
  readonly options: LearnOptions;
  readonly model: Model;
  /** The questions that are never trained on. */
  readonly tests: readonly Question[];
}

function scoresOf(tested: readonly Episode[], tries: readonly Episode[]): Omit<Point, "stage" | "elapsedMs"> {
  return {
    sampledReward: tries.length === 0 ? null : mean(tries.map(rewardOf)),
    testReward: mean(tested.map(rewardOf)),
    testRight: mean(tested.map((episode) => (isRight(episode) ? 1 : 0))),
  };
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

/** Every question of the round, several times at once. */
async function tryAll(agent: Agent, step: number, round: number): Promise<readonly (readonly Episode[])[]> {
  const { market, options, tests } = agent;
  const random = seededRandom("round", options.seed, round);
  const questions = drawQuestions(random, market, {
    count: options.questionCount,
    except: textsOf(tests),
  });
  const repeated = questions.flatMap((question) => Array.from({ length: options.groupSize }, () => question));
  const seed = random.index(2 ** 30);
  const episodes = await runAll(agent, step, repeated, {
    temperature: options.temperature,
    seed,
  });
  return questions.map((_, index) =>
    episodes.slice(index * options.groupSize, (index + 1) * options.groupSize),
  );
}

/** Runs an episode for each question, some at a time, in the questions' order. */
async function runAll(
  { client, market, options, model }: Agent,
  step: number,
  questions: readonly Question[],
  sampling: { readonly temperature: number; readonly seed: number },
): Promise<readonly Episode[]> {
  const episodes: Episode[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < questions.length; index = next++) {
      const seed = sampling.seed + 100 * index;
      const { temperature } = sampling;
      episodes[index] = await runEpisode(client, market, questions[index], {
        model: model.at(step),
        temperature,
        seed,
      });
    }
  };
  await Promise.all(Array.from({ length: options.parallel }, work));
  return episodes;
}

/** Trains on the groups that have variance: the others teach nothing. False where none has. */
async function train(
  { client, options, model }: Agent,
  groups: readonly (readonly Episode[])[],
): Promise<boolean> {
  const varied = groups.filter((group) => new Set(group.map(rewardOf)).size > 1);
  if (varied.length === 0) return false;
  const jobId = await model.train(
    varied.map((group) => ({ trajectories: group.map(trajectoryOf) })),
    // A step for each question on the average: the tries of one share its prompt, which is then computed once.
    { learning_rate: options.reinforcementRate, batch_size: options.groupSize },
  );
  await client.jobs.wait(jobId);
  return true;
}

function textsOf(questions: readonly Question[]): ReadonlySet<string> {
  return new Set(questions.map(({ text }) => text));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
