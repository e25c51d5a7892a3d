// `hone jobs preference`: train a model on preferences between answers, read from a file or derived from feedback.
import { type Command, InvalidArgumentError, Option } from "commander";
import { addConnectionFlags, connect, type ConnectionFlags } from "../connection.ts";
import { type JsonFlag, printJsonLine } from "../json-output.ts";
import {
  preferenceLosses,
  preferenceReferences,
  resolvePreferenceConfig,
} from "../../../base/domain/preferences/preference-config.ts";
import type {
  PreferenceLossName,
  PreferenceReference,
} from "../../../base/domain/preferences/preference-config.ts";
import { invalid, type ServiceError } from "../../../base/domain/service-error.ts";
import { findNamed } from "../names/named-version.ts";
import { addTermFlags } from "../rules/term-flags.ts";
import { watchJob } from "../commands/watch-job.ts";
import { asksForFeedback, type FeedbackFlags, trainOnFeedback } from "./preference-feedback.ts";
import { positiveNumber, type StepFlags, stepOptions, withUpload } from "./training-file.ts";

interface PreferenceFlags extends ConnectionFlags, JsonFlag, StepFlags, FeedbackFlags {
  readonly loss?: PreferenceLossName;
  readonly beta?: number;
  readonly labelSmoothing?: number;
  readonly gamma?: number;
  readonly reference?: PreferenceReference;
  readonly watch?: boolean;
}

const defaults = resolvePreferenceConfig({});
const simpo = resolvePreferenceConfig({ loss: "simpo" });

/** Adds the subcommand `preference` to `hone jobs`. */
export function addPreferenceCommand(jobs: Command): void {
  addTermFlags(
    addConnectionFlags(
      jobs
        .command("preference <model> [file]")
        .description(
          "Train a model on preferences from a file (one JSON object per line), or from feedback on its recorded answers.",
        ),
    ),
  )
    .option("--rule <rule>", "stored reward rule, by id or as project/name")
    .option(
      "--corrections [type:path]",
      "also train on people's corrections of answers. The value is the feedback type and the path of the corrected text in the payload, such as fix:text (default: the path `correction`, in feedback of any type)",
    )
    .option("--since <time>", "only feedback since this time, such as 2026-01-31T00:00:00Z")
    .option(
      "--version-age-max <count>",
      "maximum age of an answer: the number of versions of the model that are newer than the one that answered (default: unlimited)",
    )
    .option("--dry-run", "only show the training data that the feedback gives, and create no job")
    .addOption(
      new Option("--loss <loss>", `loss function (default: ${defaults.loss})`).choices(preferenceLosses),
    )
    .option(
      "--beta <number>",
      `factor of the log-ratios in the loss; a greater value keeps the model closer to the reference (default: ${defaults.beta}; ${simpo.beta} with simpo)`,
      positiveNumber,
    )
    .option(
      "--label-smoothing <share>",
      "with dpo and simpo: assumed fraction of preferences in which people swapped the better and the worse answer, 0 to 0.5 (default: 0)",
      shareOfLabels,
    )
    .option(
      "--gamma <number>",
      `with simpo: target margin between the rewards of the chosen and the rejected answer (default: ${simpo.gamma})`,
      positiveNumber,
    )
    .addOption(
      new Option(
        "--reference <version>",
        "reference model: the version that the job starts from, or the base model (default: start)",
      ).choices(preferenceReferences),
    )
    .option(
      "--batch-size <count>",
      `number of pairs per optimizer step (default: ${defaults.batchSize})`,
      positiveNumber,
    )
    .option("--learning-rate <rate>", `learning rate (default: ${defaults.learningRate})`, positiveNumber)
    .option(
      "--epochs <count>",
      `number of passes over the pairs (default: ${defaults.epochCount})`,
      positiveNumber,
    )
    .option("--no-shuffle", "train in the order of the file (default: random order)")
    .option("--watch", "watch the job until it ends")
    .option("--json", "print the job as JSON; with --watch, also print its events, one per line")
    .action(train);
}

async function train(name: string, path: string | undefined, flags: PreferenceFlags): Promise<void> {
  if ((path === undefined) === !asksForFeedback(flags)) throw unclearSource(path);
  const client = connect(flags);
  const { model } = await findNamed(client, name);
  const { loss, beta, labelSmoothing, gamma, reference } = flags;
  const config = {
    ...(loss === undefined ? {} : { loss }),
    ...(beta === undefined ? {} : { beta }),
    ...(labelSmoothing === undefined ? {} : { label_smoothing: labelSmoothing }),
    ...(gamma === undefined ? {} : { gamma }),
    ...(reference === undefined ? {} : { reference }),
    ...stepOptions(flags),
  };
  if (path === undefined) {
    const id = await trainOnFeedback(client, { model_id: model.id, config }, flags);
    if (flags.watch === true && id !== null) await watchJob(client, id, flags);
    return;
  }
  const job = await withUpload(client, path, (fileId) =>
    client.jobs.createPreference({ model_id: model.id, file_id: fileId, config }),
  );
  if (flags.json === true) printJsonLine(job, flags);
  else process.stdout.write(`${job.id}\n`);
  if (flags.watch === true) await watchJob(client, job.id, flags);
}

function unclearSource(path: string | undefined): ServiceError {
  const message =
    path === undefined
      ? "Name a file of preferences, or select feedback: --reactions 👍=1,👎=0, --preferences, --corrections, or another of the flags in --help."
      : `Both ${path} and feedback are given; leave out the file, or the flags that read feedback.`;
  return invalid(message);
}

function shareOfLabels(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value <= 0.5) return value;
  throw new InvalidArgumentError("It must be a number from 0 to 0.5.");
}
