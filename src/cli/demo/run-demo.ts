// The demo as a story: sample, judge, train, and again, over HTTP alone, until the model answers well.
// Knows nothing of terminals; it reports what happens through `emit`.
import type { Clock } from "../../domain/clock.ts";
import { seededRandom } from "../../domain/random.ts";
import type { HoneClient } from "../../client/hone-client.ts";
import type { Choice, ModelResource, TrajectoryGroupBody } from "../../client/resources.ts";
import { prompts, rewardOf, type Word } from "./task.ts";

export interface DemoOptions {
  readonly baseModel: string;
  readonly project: string;
  readonly name: string;
  readonly taught: Word;
  readonly seed: number;
  readonly jobCountMax: number;
  readonly learningRate: number;
  /** Choices per prompt. */
  readonly groupSize: number;
}

/** What one round of sampling showed. */
export interface DemoPoint {
  /** Training jobs so far. */
  readonly jobCount: number;
  /** Mean reward of the rollouts, at temperature 1.2. */
  readonly sampledReward: number;
  /** Mean reward of the greedy answers. */
  readonly greedyReward: number;
  readonly elapsedMs: number;
}

export interface DemoSample {
  readonly prompt: string;
  readonly answer: string;
}

export type DemoEvent =
  | { readonly kind: "point"; readonly point: DemoPoint }
  | { readonly kind: "samples"; readonly when: "before" | "after"; readonly samples: readonly DemoSample[] };

export interface DemoResult {
  readonly model: ModelResource;
  readonly points: readonly DemoPoint[];
  /** True when sampled and greedy reward both reached their targets. */
  readonly hasLearned: boolean;
}

/** The calls that the demo makes. */
export type DemoClient = Pick<
  HoneClient,
  "registerModel" | "chat" | "createTrainingJob" | "waitForTrainingJob"
>;

/** What counts as learned. */
export const demoTargets = { sampledReward: 0.95, greedyReward: 0.9 } as const;

const sampledPromptCount = 3;

/**
 * Trains a fresh model until it has learned or the jobs are used up.
 *
 * @throws HoneApiError when the server refuses something; Error when a job fails or no group has variance
 */
export async function runDemo(
  client: DemoClient,
  clock: Clock,
  options: DemoOptions,
  emit: (event: DemoEvent) => void,
): Promise<DemoResult> {
  const startedAtMs = clock.monotonicMs();
  const model = await client.registerModel({
    project: options.project,
    name: options.name,
    base_model: options.baseModel,
  });
  const points: DemoPoint[] = [];
  for (let jobCount = 0; ; jobCount++) {
    const version = `${model.entity}/${model.project}/${model.name}:step${jobCount}`;
    const [groups, greedy] = await Promise.all([
      sampleGroups(client, version, jobCount, options),
      greedyAnswers(client, version),
    ]);
    if (jobCount === 0)
      emit({ kind: "samples", when: "before", samples: greedy.slice(0, sampledPromptCount) });
    const point: DemoPoint = {
      jobCount,
      sampledReward: mean(
        groups.flatMap((group) => group.trajectories.map((trajectory) => trajectory.reward)),
      ),
      greedyReward: mean(greedy.map((sample) => rewardOf(sample.answer, options.taught))),
      elapsedMs: clock.monotonicMs() - startedAtMs,
    };
    points.push(point);
    emit({ kind: "point", point });
    const hasLearned =
      point.sampledReward >= demoTargets.sampledReward && point.greedyReward >= demoTargets.greedyReward;
    if (hasLearned || jobCount === options.jobCountMax) {
      emit({ kind: "samples", when: "after", samples: greedy.slice(0, sampledPromptCount) });
      return { model, points, hasLearned };
    }
    await train(client, model, groups, options);
  }
}

/** One chat call per prompt, `groupSize` choices each, judged. */
function sampleGroups(
  client: DemoClient,
  version: string,
  jobCount: number,
  options: DemoOptions,
): Promise<readonly TrajectoryGroupBody[]> {
  return Promise.all(
    prompts.map(async (prompt, index) => {
      const question = { role: "user", content: prompt };
      const answer = await client.chat({
        model: version,
        messages: [question],
        n: options.groupSize,
        temperature: 1.2,
        max_tokens: 5,
        seed: seededRandom("demo", options.seed, jobCount, index).index(2 ** 31),
      });
      return {
        trajectories: answer.choices.map((choice) => ({
          messages_and_choices: [question, choice],
          reward: rewardOf(textOf(choice), options.taught),
          metadata: { scenario_id: `prompt-${index}` },
        })),
      };
    }),
  );
}

function greedyAnswers(client: DemoClient, version: string): Promise<readonly DemoSample[]> {
  return Promise.all(
    prompts.map(async (prompt) => {
      const answer = await client.chat({
        model: version,
        messages: [{ role: "user", content: prompt }],
        temperature: 0,
        max_tokens: 5,
      });
      const [choice] = answer.choices;
      return { prompt, answer: choice === undefined ? "" : textOf(choice) };
    }),
  );
}

/** Sends the groups that have variance: the others teach nothing. */
async function train(
  client: DemoClient,
  model: ModelResource,
  groups: readonly TrajectoryGroupBody[],
  options: DemoOptions,
): Promise<void> {
  const varied = groups.filter(
    (group) => new Set(group.trajectories.map((trajectory) => trajectory.reward)).size > 1,
  );
  if (varied.length === 0)
    throw new Error(
      "No prompt got answers of differing reward, so there is nothing to learn from; try another seed.",
    );
  const jobId = await client.createTrainingJob({
    model_id: model.id,
    trajectory_groups: varied,
    experimental_config: { learning_rate: options.learningRate },
  });
  await client.waitForTrainingJob(jobId);
}

function textOf(choice: Choice): string {
  return choice.message.content ?? "";
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
