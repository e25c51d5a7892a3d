// Runs the demo with thumbs instead of rewards. The server records answers, a rater gives thumbs, and each job trains
// on this feedback. Works with any server through the client, and reports events through `emit`.
import type { ChatCompletion, ModelObject } from "../../../client/api.ts";
import type { Hone } from "../../../client/hone.ts";
import type { Clock } from "../../../../base/domain/clock.ts";
import { seededRandom } from "../../../../base/domain/random.ts";
import { callReference } from "../../../../base/domain/recordings/call-reference.ts";
import type { CompletionKey } from "../../../../base/domain/recordings/completion-key.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { type DemoEvent, type DemoOptions, type DemoResult, runRounds, textOf } from "../run-demo.ts";
import type { DemoTask } from "../tasks/task.ts";
import { type RatedAnswer, type Rater, reactionRewards, reactions } from "./rater.ts";

/**
 * Adapts a task to thumbs, which carry less information than rewards. The result allows up to 15 jobs, has a lower
 * target for sampled answers, and has no target for the test.
 */
export function feedbackTask(task: DemoTask): DemoTask {
  const { training, targets } = task;
  return {
    ...task,
    training: { ...training, jobCountMax: 15 },
    targets: { sampledReward: Math.min(targets.sampledReward, 0.9), testReward: 0 },
  };
}

export interface FeedbackDemoOptions extends DemoOptions {
  readonly rater: Rater;
}

/** An answer with its reference, to which feedback on the answer is attached. */
interface RecordedAnswer extends RatedAnswer {
  readonly call: string;
}

/**
 * Trains a new model on thumbs only, until it has learned the task or has used the maximum number of jobs.
 *
 * @throws HoneError if the server refuses a request; Error if a job fails or the feedback contains no training data
 */
export async function runFeedbackDemo(
  client: Hone,
  clock: Clock,
  options: FeedbackDemoOptions,
  emit: (event: DemoEvent) => void,
): Promise<DemoResult> {
  const { rater } = options;
  return await runRounds(client, clock, options, emit, async (model, version, jobCount) => {
    const answers = await askAll(client, model, version, jobCount, options);
    return {
      rewards: answers.map(({ reward }) => reward),
      learn: async () => {
        await sayThumbs(client, model, answers, rater);
        await train(client, model, options);
      },
    };
  });
}

/** Sends one chat request per question; the server records the choices. */
async function askAll(
  client: Hone,
  model: ModelObject,
  version: string,
  jobCount: number,
  { task, seed }: DemoOptions,
): Promise<readonly RecordedAnswer[]> {
  const { groupSize, temperature, answerTokensMax } = task.sampling;
  const asked = await Promise.all(
    task
      .practice(seededRandom("practice", seed, jobCount))
      .map(async ({ messages, text: question, judge }, index) => {
        const answer = await client.chat.create({
          model: version,
          messages,
          n: groupSize,
          temperature,
          max_tokens: answerTokensMax,
          seed: seededRandom("demo", seed, jobCount, index).index(2 ** 31),
        });
        return answer.choices.map((choice): RecordedAnswer => {
          const text = textOf(choice);
          return {
            text,
            question,
            reward: judge(text),
            call: callReference(callOf(model, answer), choice.index),
          };
        });
      }),
  );
  return asked.flat();
}

function callOf({ entity, project }: ModelObject, { id }: ChatCompletion): CompletionKey {
  return { projectId: `${entity}/${project}`, requestId: id.replace(/^chatcmpl-/, "") };
}

async function sayThumbs(
  client: Hone,
  { entity, project }: ModelObject,
  answers: readonly RecordedAnswer[],
  rater: Rater,
): Promise<void> {
  const thumbs = await rater.rate(answers);
  const records = answers.flatMap(({ call }, index) => {
    const thumb = thumbs[index];
    if (thumb === null) return [];
    return [
      {
        project_id: `${entity}/${project}`,
        vendor_ref: call,
        feedback_type: "vendor.reaction.1",
        payload: { emoji: reactions[thumb] },
      },
    ];
  });
  await client.feedback.createBatch(records);
}

async function train(client: Hone, model: ModelObject, { task, learningRate }: DemoOptions): Promise<void> {
  const { batchSize } = task.training;
  const { id, counts } = await client.jobs.createFromFeedback({
    model_id: model.id,
    rule: { terms: [{ kind: "reaction", rewards: reactionRewards }] },
    // Uses only feedback on the newest version. Feedback on older versions is still stored, but earlier jobs have
    // trained on it.
    version_age_max: 0,
    experimental_config: {
      learning_rate: learningRate,
      ...(batchSize !== null && { batch_size: batchSize }),
    },
  });
  if (id === null)
    throw new ServiceError({
      code: "conflict",
      message: `No question got a good and a bad answer, so there is nothing to learn from (${JSON.stringify(counts.left_out)}). Try another --seed.`,
    });
  await client.jobs.wait(id);
}
