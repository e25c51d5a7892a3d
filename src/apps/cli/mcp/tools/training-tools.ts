// Tools that create training jobs, from feedback and from finished rollouts.
import * as z from "zod";
import type { FeedbackJobCreate, RewardTerm } from "../../../client/api.ts";
import { invalid } from "../../../../base/domain/service-error.ts";
import { findNamed } from "../../names/named-version.ts";
import { findRule } from "../../rules/find-rule.ts";
import { given, modelName, pageOf, paging, time, toPage } from "../fields.ts";
import { tool, type ToolContext } from "../tool.ts";

const learningRate = z
  .number()
  .positive()
  .max(1)
  .optional()
  .describe("Learning rate of the job. Default: the server's.");

const trainOnFeedback = tool({
  name: "train_on_feedback",
  title: "Train on feedback",
  description:
    "Creates a job that trains a model on the feedback that its recorded answers have. Give the reward of each reaction in `reactions`, any terms of a reward rule in `terms`, or the name of a stored rule. With `dry_run`, only reports what the job would train on, and why it would leave out answers. Hone compares answers to the same prompt: a prompt whose answers have equal rewards teaches nothing.",
  effect: "adds",
  isIdempotent: false,
  input: z.strictObject({
    model: modelName,
    reactions: z
      .record(z.string().max(100), z.number())
      .optional()
      .describe('Reward of each emoji reaction, such as {"👍": 1, "👎": 0}.'),
    terms: z
      .array(z.looseObject({ kind: z.enum(["reaction", "number", "annotation", "preference"]) }))
      .min(1)
      .max(16)
      .optional()
      .describe(
        'Terms of a reward rule, such as {"kind": "number", "feedback_type": "rating", "path": "stars", "range": [1, 5]}, or {"kind": "preference"} for comparisons (`better_than`).',
      ),
    rule: z.string().min(1).max(500).optional().describe("Stored reward rule: `project/name`, or its id."),
    since: time.optional().describe("Only feedback given at this time or later (ISO 8601)."),
    groups_max: z.int().min(1).max(100_000).optional().describe("Maximum number of prompts in the job."),
    learning_rate: learningRate,
    dry_run: z.boolean().default(false).describe("True to create no job."),
  }),
  output: z.object({
    job_id: z
      .string()
      .nullable()
      .describe("Job for watch_job; null for a dry run or if there is nothing to train on."),
    counts: z
      .record(z.string(), z.unknown())
      .describe("Numbers of feedback records, prompts, answers and tokens."),
    left_out_reasons: z.record(z.string(), z.string()),
  }),
  run: async (input, { hone, signal }) => {
    const { model, since, groups_max, learning_rate: rate, dry_run } = input;
    const body: FeedbackJobCreate = {
      model_id: (await findNamed(hone, model)).model.id,
      ...(await ruleOf(input, hone)),
      ...given({ since, groups_max }),
      ...(rate === undefined ? {} : { experimental_config: { learning_rate: rate } }),
      dry_run,
    };
    const { id, counts, reasons } = await hone.jobs.createFromFeedback(body, { signal });
    return { job_id: id, counts: { ...counts }, left_out_reasons: { ...reasons } };
  },
});

interface RuleInput {
  readonly reactions?: Readonly<Record<string, number>> | undefined;
  readonly terms?: readonly object[] | undefined;
  readonly rule?: string | undefined;
}

async function ruleOf(
  { reactions, terms, rule }: RuleInput,
  hone: ToolContext["hone"],
): Promise<Pick<FeedbackJobCreate, "rule" | "rule_id">> {
  const count = [reactions, terms, rule].filter((one) => one !== undefined).length;
  if (count !== 1)
    throw invalid(
      `${count} of reactions, terms and rule are given; give exactly one, which says how feedback is rewarded.`,
    );
  if (rule !== undefined) return { rule_id: (await findRule(hone, rule)).id };
  if (reactions !== undefined) return { rule: { terms: [{ kind: "reaction", rewards: reactions }] } };
  // Safe cast: the server validates the terms, and its error names the invalid one.
  return { rule: { terms: terms as readonly RewardTerm[] } };
}

const listRollouts = tool({
  name: "list_rollouts",
  title: "List rollouts of a model",
  description:
    "Lists rollouts, newest first: attempts of agents at tasks, whose calls of the model are recorded. `hone rollout run` makes them.",
  effect: "reads",
  isIdempotent: true,
  input: z.strictObject({ model: modelName, ...paging }),
  output: z.object(
    pageOf(
      z.object({
        rollout_id: z.string(),
        state: z.string().describe("`open`, `finished`, `cancelled` or `expired`."),
        task: z.unknown(),
        group: z.string().nullable(),
        split: z.string(),
        version: z.number(),
        reward: z.number().nullable(),
        call_count: z.number(),
        created_at: z.string(),
        job_id: z.string().nullable().describe("Job that trains or has trained on the rollout."),
      }),
    ),
  ),
  run: async ({ model, limit, after }, { hone, signal }) => {
    const { id } = (await findNamed(hone, model)).model;
    const found = await hone.rollouts
      .list(id, { limit, order: "desc", ...given({ after }) }, { signal })
      .first();
    return toPage(
      found,
      ({ rollout_id, state, task, group, split, version, reward, call_count, created_at, job_id }) => ({
        rollout_id,
        state,
        task,
        group,
        split,
        version,
        reward,
        call_count,
        created_at,
        job_id,
      }),
    );
  },
});

const trainOnRollouts = tool({
  name: "train_on_rollouts",
  title: "Train on rollouts",
  description:
    "Creates a job that trains a model on finished rollouts: on those in `rollout_ids`, or otherwise on all that match the other fields and on which no other job trains.",
  effect: "adds",
  isIdempotent: false,
  input: z.strictObject({
    model: modelName,
    rollout_ids: z
      .array(z.string().min(1).max(100))
      .min(1)
      .max(1000)
      .optional()
      .describe("Finished rollouts to train on."),
    group: z.string().min(1).max(300).optional().describe("Only rollouts of this group."),
    split: z.string().min(1).max(300).optional().describe("Only rollouts of this split."),
    version: z.int().min(0).optional().describe("Only rollouts of this version of the model."),
    max_groups: z
      .int()
      .min(1)
      .max(100_000)
      .optional()
      .describe("Maximum number of groups, the oldest first."),
    learning_rate: learningRate,
  }),
  output: z.object({ job_id: z.string().describe("Job for watch_job.") }),
  run: async ({ model, rollout_ids: ids, learning_rate: rate, ...filter }, { hone, signal }) => {
    const named = Object.entries(given(filter)).map(([name]) => name);
    if (ids !== undefined && named.length > 0)
      throw invalid(`rollout_ids and ${named.join(", ")} are given; leave out rollout_ids, or the filter.`);
    const body = {
      model_id: (await findNamed(hone, model)).model.id,
      ...(ids === undefined
        ? { rollouts: { finished: "all" as const, ...given(filter) } }
        : { rollout_ids: ids }),
      ...(rate === undefined ? {} : { experimental_config: { learning_rate: rate } }),
    };
    return { job_id: (await hone.jobs.create(body, { signal })).id };
  },
});

export const trainingTools = [trainOnFeedback, listRollouts, trainOnRollouts];
