// `hone jobs preference`: has a model learn which answers people preferred, from the preferences of a file.
import { type Command, InvalidArgumentError, Option } from "commander";
import { addConnectionFlags, connect, type ConnectionFlags, type JsonFlag } from "../connection.ts";
import { preferenceLosses, preferenceReferences } from "../../domain/preferences/preference-config.ts";
import type { PreferenceLossName, PreferenceReference } from "../../domain/preferences/preference-config.ts";
import { findNamed } from "../named-version.ts";
import { positiveNumber, type StepFlags, stepOptions, withUpload } from "./uploaded-lines.ts";
import { watchJob } from "../commands/watch-job.ts";

interface PreferenceFlags extends ConnectionFlags, JsonFlag, StepFlags {
  readonly loss?: PreferenceLossName;
  readonly beta?: number;
  readonly labelSmoothing?: number;
  readonly gamma?: number;
  readonly reference?: PreferenceReference;
  readonly watch?: boolean;
}

/** Adds `preference` to the command `jobs`. */
export function addPreferenceCommand(jobs: Command): void {
  addConnectionFlags(
    jobs
      .command("preference <model> <file>")
      .description(
        "Have a model learn which answers people preferred, from the preferences of a file, one a line as JSON.",
      ),
  )
    .addOption(new Option("--loss <loss>", "what compares the answers").choices(preferenceLosses))
    .option("--beta <number>", "how much log ratios count", positiveNumber)
    .option("--label-smoothing <share>", "how often a preference is the wrong way round", shareOfLabels)
    .option("--gamma <number>", "by how much a reward is to exceed the other's, with simpo", positiveNumber)
    .addOption(
      new Option("--reference <version>", "what the model is compared with").choices(preferenceReferences),
    )
    .option("--batch-size <count>", "pairs of one step", positiveNumber)
    .option("--learning-rate <rate>", "of every step", positiveNumber)
    .option("--epochs <count>", "how often each pair trains", positiveNumber)
    .option("--no-shuffle", "in the order of the file")
    .option("--watch", "then watch the job to its end")
    .option("--json", "the job as JSON; watched, its events behind that, one a line")
    .action(train);
}

async function train(name: string, path: string, flags: PreferenceFlags): Promise<void> {
  const client = connect(flags);
  const { model } = await findNamed(client, name);
  const { loss, beta, labelSmoothing, gamma, reference } = flags;
  const job = await withUpload(client, path, (fileId) =>
    client.jobs.createPreference({
      model_id: model.id,
      file_id: fileId,
      config: {
        ...(loss === undefined ? {} : { loss }),
        ...(beta === undefined ? {} : { beta }),
        ...(labelSmoothing === undefined ? {} : { label_smoothing: labelSmoothing }),
        ...(gamma === undefined ? {} : { gamma }),
        ...(reference === undefined ? {} : { reference }),
        ...stepOptions(flags),
      },
    }),
  );
  process.stdout.write(`${flags.json === true ? JSON.stringify(job) : job.id}\n`);
  if (flags.watch === true) await watchJob(client, job.id, flags);
}

function shareOfLabels(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value <= 0.5) return value;
  throw new InvalidArgumentError("It must be a number from 0 to 0.5.");
}
