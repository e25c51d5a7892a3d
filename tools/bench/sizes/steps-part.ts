// Compares a job that takes a step for each short sequence with a job whose steps pack eight of them.
import { createLoraAdapter } from "../../../src/inference/architectures/lora.ts";
import type { ExperimentalTrainingConfig, TrajectoryGroup } from "../../../src/apps/client/api.ts";
import { seededRandom } from "../../../src/base/domain/random.ts";
import { adamWStep, createAdamWState, reinforcementLearningAdamW } from "../../../src/train/trainer/adamw.ts";
import { trainingSettings } from "../../../src/train/trainer/settings.ts";
import { median } from "../median.ts";
import type { Figure } from "./figure.ts";
import { withIdleServer, type PartOptions } from "./part.ts";
import { jobConfig } from "./round-part.ts";
import { servedName, type ServedModel } from "./served-model.ts";
import type { SizedModel } from "./sized-model.ts";

const sequenceCount = 32;
const packedCount = 8;
const [promptLength, answerLength] = [32, 32];

/** Goal for the optimizer's share of a step's time. */
const optimizerShareMax = 0.1;

export function measureSteps(options: PartOptions): Promise<readonly Figure[]> {
  const { model, say } = options;
  return withIdleServer(options, async (server) => {
    const rates: StepRate[] = [];
    for (const size of [1, packedCount]) {
      say(`a job with ${sequenceCount} sequences, ${size} in each step`);
      rates.push(await runJob(server, model, { ...jobConfig(model), batch_size: size }));
    }
    const [single, packed] = rates;
    return [
      {
        name: `tokens per second of steps with 1 sequence ÷ with ${packedCount}`,
        value: single.tokensPerSecond / packed.tokensPerSecond,
        unit: "ratio",
        goal: { kind: "at least", value: 1 },
      },
      { name: "steps with 1 sequence", value: single.tokensPerSecond, unit: "tokens/s" },
      { name: `steps with ${packedCount} sequences`, value: packed.tokensPerSecond, unit: "tokens/s" },
      {
        name: "AdamW's share of a step with 1 sequence (measured in the benchmark's process)",
        value: optimizerSeconds(model) / single.stepSeconds,
        unit: "ratio",
        goal: { kind: "at most", value: optimizerShareMax },
      },
    ];
  });
}

interface StepRate {
  readonly tokensPerSecond: number;
  readonly stepSeconds: number;
}

let jobCount = 0;

/** Runs a job on a new model. Leaves out the first step, which loads the program. */
async function runJob(
  { client }: ServedModel,
  { config }: SizedModel,
  jobSettings: ExperimentalTrainingConfig,
): Promise<StepRate> {
  jobCount += 1;
  const { details } = await client.model(`sizes/steps-${jobCount}`, { base: servedName });
  const { id } = await client.jobs.create({
    model_id: details.id,
    trajectory_groups: groupsOf(config.vocabularySize),
    experimental_config: jobSettings,
  });
  const steps: { readonly tokens: number; readonly seconds: number }[] = [];
  await client.jobs.wait(id, {
    onEvent: ({ type, data }) => {
      const { num_tokens: tokens, tokens_per_second: rate } = data;
      if (type !== "gradient_step" || typeof tokens !== "number" || typeof rate !== "number") return;
      steps.push({ tokens, seconds: tokens / rate });
    },
  });
  const later = steps.slice(1);
  const seconds = later.reduce((sum, step) => sum + step.seconds, 0);
  const tokens = later.reduce((sum, step) => sum + step.tokens, 0);
  return { tokensPerSecond: tokens / seconds, stepSeconds: seconds / later.length };
}

/** Returns groups of two trajectories of random tokens. Prompts differ, so that steps cannot share them. */
function groupsOf(vocabularySize: number): TrajectoryGroup[] {
  const random = seededRandom("sizes");
  const ids = (length: number): number[] => Array.from({ length }, () => random.index(vocabularySize));
  const trajectory = (reward: number): TrajectoryGroup["trajectories"][number] => {
    const tokenIds = ids(answerLength);
    const logprob = -Math.log(vocabularySize);
    const choice = {
      finish_reason: "stop",
      index: 0,
      message: { role: "assistant", content: "" },
      logprobs: { content: tokenIds.map((id) => ({ token: `token_id:${id}`, logprob })) },
      prompt_token_ids: ids(promptLength),
      token_ids: tokenIds,
    };
    return { messages_and_choices: [choice], reward };
  };
  return Array.from({ length: sequenceCount / 2 }, () => ({ trajectories: [trajectory(0), trajectory(1)] }));
}

/** Returns the time of one AdamW step over an adapter of the usual rank, on one thread as in a job. */
function optimizerSeconds({ config }: SizedModel): number {
  const { matrices } = createLoraAdapter(config, { rank: trainingSettings.with().loraRank, seed: 1 });
  const state = createAdamWState(matrices);
  const times = Array.from({ length: 8 }, () => {
    const startMs = performance.now();
    adamWStep(state, matrices, matrices, { ...reinforcementLearningAdamW, learningRate: 0 });
    return (performance.now() - startMs) / 1000;
  });
  return median(times.slice(3));
}
