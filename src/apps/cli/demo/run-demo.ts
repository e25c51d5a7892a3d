// Runs the demo over HTTP: samples answers, judges them, and trains until the model answers well. The task is given as
// data. Uses no terminal; reports events through `emit`.
import type { Clock } from "../../../base/domain/clock.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Hone } from "../../client/hone.ts";
import type { Choice, ModelObject, TrajectoryGroup } from "../../client/api.ts";
import type { DemoTask, Question } from "./tasks/task.ts";

export interface DemoOptions {
  readonly baseModel: string;
  readonly project: string;
  readonly name: string;
  readonly task: DemoTask;
  readonly seed: number;
  readonly jobCountMax: number;
  readonly learningRate: number;
}

/** Rewards of one version, measured after a number of training jobs. */
export interface DemoPoint {
  /** Number of training jobs before this measurement. */
  readonly jobCount: number;
  /** Mean reward of sampled answers to the practice questions. */
  readonly sampledReward: number;
  /** Mean reward of greedy answers to the test questions. */
  readonly testReward: number;
  readonly elapsedMs: number;
}

export interface DemoSample {
  /** The question that was answered. */
  readonly text: string;
  readonly answer: string;
  readonly reward: number;
}

export type DemoEvent =
  | { readonly kind: "point"; readonly point: DemoPoint }
  | { readonly kind: "samples"; readonly when: "before" | "after"; readonly samples: readonly DemoSample[] };

export interface DemoResult {
  readonly model: ModelObject;
  readonly points: readonly DemoPoint[];
  /** True if the last sampled reward and test reward both reached the task's targets. */
  readonly hasLearned: boolean;
}

/**
 * Trains a new model until it has learned the task or has used the maximum number of jobs.
 *
 * @throws HoneError if the server refuses a request; Error if a job fails or no group has reward spread
 */
export async function runDemo(
  client: Hone,
  clock: Clock,
  options: DemoOptions,
  emit: (event: DemoEvent) => void,
): Promise<DemoResult> {
  const { task, seed } = options;
  return await runRounds(client, clock, options, emit, async (model, version, jobCount) => {
    const groups = await sampleGroups(client, version, jobCount, options);
    return {
      rewards: groups.flatMap((group) => group.trajectories.map(({ reward = 0 }) => reward)),
      learn: () =>
        jobCount === 0 && task.lessons !== undefined
          ? teach(client, model, task.lessons, seed)
          : train(client, model, groups, options),
    };
  });
}

/** Rewards of a round's sampled answers, and a function that trains on the answers. */
export interface DemoRound {
  readonly rewards: readonly number[];
  readonly learn: () => Promise<void>;
}

/**
 * Creates a model, then measures and trains it in turn. Ends when the model has learned the task or has used the
 * maximum number of jobs. All kinds of training share this loop.
 *
 * @param sample samples answers to the practice questions from a version
 */
export async function runRounds(
  client: Hone,
  clock: Clock,
  { task, project, name, baseModel, jobCountMax }: DemoOptions,
  emit: (event: DemoEvent) => void,
  sample: (model: ModelObject, version: string, jobCount: number) => Promise<DemoRound>,
): Promise<DemoResult> {
  const startedAtMs = clock.monotonicMs();
  const model = await client.models.create({ project, name, base_model: baseModel });
  const points: DemoPoint[] = [];
  for (let jobCount = 0; ; jobCount++) {
    const version = `${model.entity}/${model.project}/${model.name}:step${jobCount}`;
    const [{ rewards, learn }, tested] = await Promise.all([
      sample(model, version, jobCount),
      testAnswers(client, version, task),
    ]);
    const samples = tested.slice(0, task.shownCount);
    if (jobCount === 0) emit({ kind: "samples", when: "before", samples });
    const point: DemoPoint = {
      jobCount,
      sampledReward: mean(rewards),
      testReward: mean(tested.map(({ reward }) => reward)),
      elapsedMs: clock.monotonicMs() - startedAtMs,
    };
    points.push(point);
    emit({ kind: "point", point });
    const hasLearned =
      point.sampledReward >= task.targets.sampledReward && point.testReward >= task.targets.testReward;
    if (hasLearned || jobCount === jobCountMax) {
      emit({ kind: "samples", when: "after", samples });
      return { model, points, hasLearned };
    }
    await learn();
  }
}

/** Samples `groupSize` answers per practice question with one chat request each, and judges them. */
function sampleGroups(
  client: Hone,
  version: string,
  jobCount: number,
  { task, seed }: DemoOptions,
): Promise<readonly TrajectoryGroup[]> {
  const { groupSize, temperature, answerTokensMax } = task.sampling;
  const questions = task.practice(seededRandom("practice", seed, jobCount));
  return Promise.all(
    questions.map(async ({ messages, judge }, index) => {
      const answer = await client.chat.create({
        model: version,
        messages,
        n: groupSize,
        temperature,
        max_tokens: answerTokensMax,
        seed: seededRandom("demo", seed, jobCount, index).index(2 ** 31),
      });
      return {
        trajectories: answer.choices.map((choice) => ({
          messages_and_choices: [...messages, choice],
          reward: judge(textOf(choice)),
          metadata: { scenario_id: `prompt-${index}` },
        })),
      };
    }),
  );
}

/** Returns a version's greedy answers to the test questions, with rewards. */
function testAnswers(client: Hone, version: string, task: DemoTask): Promise<readonly DemoSample[]> {
  return Promise.all(
    task.test.map(async ({ messages, text, judge }: Question) => {
      const answered = await client.chat.create({
        model: version,
        messages,
        temperature: 0,
        max_tokens: task.sampling.answerTokensMax,
      });
      const [choice] = answered.choices;
      const answer = choice === undefined ? "" : textOf(choice);
      return { text, answer, reward: judge(answer) };
    }),
  );
}

/** Runs a supervised job on the task's lessons. This job comes before all RL jobs. */
async function teach(
  client: Hone,
  model: ModelObject,
  { draw, learningRate, batchSize }: NonNullable<DemoTask["lessons"]>,
  seed: number,
): Promise<void> {
  const { id: jobId } = await client.jobs.createSupervised({
    model_id: model.id,
    training_data: draw(seededRandom("lessons", seed)),
    config: { learning_rate: learningRate, batch_size: batchSize },
  });
  await client.jobs.wait(jobId);
}

/**
 * Trains on the groups with reward spread. The other groups would train nothing, since their advantages are all zero.
 */
async function train(
  client: Hone,
  model: ModelObject,
  groups: readonly TrajectoryGroup[],
  options: DemoOptions,
): Promise<void> {
  const varied = groups.filter(
    (group) => new Set(group.trajectories.map((trajectory) => trajectory.reward)).size > 1,
  );
  if (varied.length === 0)
    throw new ServiceError({
      code: "conflict",
      message: `No prompt got answers with different rewards, so there is nothing to learn from. Try another --seed than ${options.seed}, or a lower --learning-rate than ${options.learningRate}.`,
    });
  const { batchSize } = options.task.training;
  const { id: jobId } = await client.jobs.create({
    model_id: model.id,
    trajectory_groups: varied,
    experimental_config: {
      learning_rate: options.learningRate,
      ...(batchSize !== null && { batch_size: batchSize }),
    },
  });
  await client.jobs.wait(jobId);
}

export function textOf(choice: Choice): string {
  return choice.message.content ?? "";
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
