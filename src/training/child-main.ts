// The training process: runs one job after another for one base model, as its parent sends them. All native compute of
// training happens here, so that a crash in it loses one attempt and not the server.
import { createReadStream } from "node:fs";
import { availableParallelism, setPriority } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { systemClock } from "../domain/clock.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { TrajectoryGroup } from "../domain/trajectory.ts";
import { readModelConfig } from "../model/config/read-config.ts";
import { projectionNames } from "../model/parameters.ts";
import { readModelWeights } from "../model/weights.ts";
import { loadChatTemplate } from "../tokenizer/load-chat-template.ts";
import { loadTokenizer } from "../tokenizer/load-tokenizer.ts";
import type { ConversationTokenizer } from "../trajectories/sequences.ts";
import { reinforcementLearningAdamW } from "./adamw.ts";
import type { RunMessage, TrainingMessage } from "./child-protocol.ts";
import { createConversationTokenizer } from "./conversation-tokenizer.ts";
import { EmbeddedTrainers } from "./embedded/embedded-trainer.ts";
import { runTrainingJob } from "./run-training-job.ts";

interface LoadedModel {
  readonly trainers: EmbeddedTrainers;
  readonly tokenizer: ConversationTokenizer;
}

let model: LoadedModel | null = null;

process.on("message", (message: RunMessage) => {
  run(message).then(tell, (error: unknown) => tell(failureOf(error)));
});
// Without a parent nobody takes the result.
process.on("disconnect", () => process.exit(0));
// A terminal sends its signals to the whole group; the parent decides when this process ends.
process.on("SIGINT", () => undefined);
process.on("SIGTERM", () => undefined);

async function run(message: RunMessage): Promise<TrainingMessage> {
  model ??= await load(message);
  const { dataFolder, jobId, config, fromAdapterFolder, adapterFolder, settings } = message;
  const report = {
    started: async (stepCount: number, counts: (TrainingMessage & { kind: "started" })["counts"]) =>
      tell({ kind: "started", stepCount, counts }),
    stepped: async (index: number, metrics: Readonly<Record<string, number>>) => {
      tell({ kind: "stepped", index, metrics });
      // Lets the message out, and a parent that has gone be noticed, before the next step takes the thread.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
  const outcome = await runTrainingJob(
    { ...model, report, clock: systemClock },
    {
      jobId,
      config,
      groups: await readGroups(message.trajectoriesFile),
      fromAdapterFolder: fromAdapterFolder === null ? null : join(dataFolder, fromAdapterFolder),
      tokenBudget: settings.minibatchTokens,
      dataFolder,
      adapterFolder,
    },
  );
  return { kind: "finished", counts: outcome.counts, metrics: outcome.metrics };
}

async function load({ baseModel, settings, dataFolder }: RunMessage): Promise<LoadedModel> {
  setPriority(settings.niceness);
  const { folder, name } = baseModel;
  const whole = readModelConfig(folder);
  // The rotary tables need no more rows than the longest sequence.
  const config = { ...whole, contextLength: Math.min(whole.contextLength, settings.sequenceLengthMax) };
  const tokenizer = await loadTokenizer(folder);
  const template = await loadChatTemplate(folder);
  return {
    tokenizer: createConversationTokenizer(tokenizer, template, config.vocabularySize),
    trainers: new EmbeddedTrainers({
      config,
      weights: readModelWeights(folder, config, { cacheFolder: join(dataFolder, "cache") }),
      lora: { rank: settings.loraRank, alpha: settings.loraAlpha, targets: projectionNames },
      optimizer: {
        ...reinforcementLearningAdamW,
        weightDecay: settings.weightDecay,
        gradientNormMax: settings.gradientNormMax,
      },
      baseModelName: name,
      sequenceLengthMax: settings.sequenceLengthMax,
      threads: settings.threads === 0 ? availableParallelism() : settings.threads,
    }),
  };
}

async function readGroups(file: string): Promise<TrajectoryGroup[]> {
  const groups: TrajectoryGroup[] = [];
  // The parent wrote the groups of its own store there.
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    groups.push(JSON.parse(line) as TrajectoryGroup);
  }
  return groups;
}

function failureOf(error: unknown): TrainingMessage {
  const detail = error instanceof Error ? describe(error) : String(error);
  if (error instanceof ServiceError)
    return { kind: "failed", code: error.code, message: error.message, detail };
  const message = "Training ended with an internal error; the server's log has it.";
  return { kind: "failed", code: "internal", message, detail };
}

/** The error with its causes. */
function describe(error: Error): string {
  const { cause } = error;
  const own = error.stack ?? error.message;
  return cause instanceof Error ? `${own}\ncaused by ${describe(cause)}` : own;
}

function tell(message: TrainingMessage): void {
  // A parent that has gone also disconnects, which ends this process.
  process.send?.(message, () => undefined);
}
