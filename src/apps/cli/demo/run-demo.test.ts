// Tests of the demo against a scripted client; test/demo.test.ts checks that a real model learns.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatCompletionRequest, SupervisedJobCreate, TrainingJobCreate } from "../../client/api.ts";
import { Hone } from "../../client/hone.ts";
import { routedFetch, succeedingJobs } from "../../client/testing/fake-fetch.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { errorText } from "../error-text.ts";
import { type DemoResult, runDemo } from "./run-demo.ts";
import type { DemoTask } from "./tasks/task.ts";
import { prompts, wordTask, type Word } from "./tasks/word-task.ts";

/** Scripted answers of one version. */
interface Version {
  /** The two choices for the first prompt. For all other prompts, both choices are the taught word. */
  readonly sampled: readonly [Word, Word];
  readonly greedy: Word;
}

interface Demo {
  readonly result: DemoResult;
  readonly asked: readonly ChatCompletionRequest[];
  /** Number of groups in each job; for a supervised job, the negated number of lessons. */
  readonly groupCounts: readonly number[];
}

const task = wordTask("maybe");

/** Runs a demo that teaches "maybe", with one job between consecutive versions. */
async function play(versions: readonly Version[], lessons?: DemoTask["lessons"]): Promise<Demo> {
  const asked: ChatCompletionRequest[] = [];
  const groupCounts: number[] = [];
  const fetch = routedFetch({
    ...succeedingJobs,
    "POST /v1/preview/models": (body: object) => ({ id: "m", entity: "e", ...body }),
    "POST /v1/chat/completions": (body: ChatCompletionRequest) => {
      asked.push(body);
      const { sampled, greedy } = versions[groupCounts.length];
      assert.equal(body.model, `e/p/n:step${groupCounts.length}`);
      const isFirst = body.messages[0].content === prompts[0];
      const words = body.temperature === 0 ? [greedy] : isFirst ? sampled : (["maybe", "maybe"] as const);
      const choices = words.map((word, index) => ({ index, message: { role: "assistant", content: word } }));
      return { id: "c", model: body.model, choices };
    },
    "POST /v1/preview/sft-training-jobs": ({ training_data: lessons }: SupervisedJobCreate) => ({
      id: `job-${groupCounts.push(-(lessons ?? []).length)}`,
    }),
    "POST /v1/preview/training-jobs": ({ trajectory_groups: groups }: TrainingJobCreate) => ({
      id: `job-${groupCounts.push((groups ?? []).length)}`,
    }),
  });
  const client = new Hone({ baseUrl: "http://host", fetch });
  const result = await runDemo(
    client,
    new FakeClock(),
    {
      baseModel: "tiny",
      project: "p",
      name: "n",
      task: {
        ...task,
        ...(lessons !== undefined && { lessons }),
        sampling: { ...task.sampling, groupSize: 2 },
      },
      seed: 1,
      jobCountMax: versions.length - 1,
      learningRate: 0.001,
    },
    () => undefined,
  );
  return { result, asked, groupCounts };
}

test("trains on groups with reward spread until sampled and greedy answers are both good", async () => {
  const { result, asked, groupCounts } = await play([
    { sampled: ["yes", "no"], greedy: "no" },
    { sampled: ["no", "maybe"], greedy: "no" },
    { sampled: ["no", "maybe"], greedy: "maybe" },
    { sampled: ["yes", "yes"], greedy: "yes" },
  ]);
  assert.deepEqual(
    result.points.map(({ sampledReward, testReward }) => [sampledReward, testReward]),
    [
      [(14 + 0.5 + 0.75) / 16, 0.75],
      [(15 + 0.75) / 16, 0.75],
      [(15 + 0.75) / 16, 1],
    ],
  );
  assert.ok(result.hasLearned);
  assert.deepEqual(groupCounts, [1, 1]);
  assert.equal(asked.length, 3 * 2 * prompts.length);
  for (const { max_tokens: maxTokens, n, temperature } of asked)
    assert.deepEqual([maxTokens, n], [5, temperature === 0 ? undefined : 2]);
});

test("stops without success when the jobs are used up, and fails if no group has reward spread", async () => {
  const bad = { sampled: ["yes", "no"], greedy: "no" } as const;
  const { result, groupCounts } = await play([bad, bad]);
  assert.deepEqual([result.hasLearned, result.points.length, groupCounts.length], [false, 2, 1]);
  await assert.rejects(play([{ sampled: ["maybe", "maybe"], greedy: "no" }, bad]), (error) => {
    assert.match(
      errorText(error),
      /^hone: [^\n]+ nothing to learn from\. Try another --seed than 1, [^\n]+\n$/,
    );
    return true;
  });
});

test("trains on the lessons in the first job, and on practice in later ones", async () => {
  const bad = { sampled: ["yes", "no"], greedy: "no" } as const;
  const good = { sampled: ["maybe", "maybe"], greedy: "maybe" } as const;
  const lesson = { messages: [{ role: "user", content: "?" }] };
  const lessons = { draw: () => [lesson, lesson, lesson], learningRate: 1e-3, batchSize: 2 };
  const { groupCounts, result } = await play([bad, bad, good], lessons);
  assert.deepEqual(groupCounts, [-3, 1]);
  assert.ok(result.hasLearned);
});
