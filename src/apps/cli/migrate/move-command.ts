// `hone models move`: move a model to another trainer. Trainers cannot exchange adapters, so the command either
// replays the model's jobs for a new model, or merges the version into the base weights.
import { resolve } from "node:path";
import type { Command } from "commander";
import { Hone } from "../../client/hone.ts";
import type { ModelObject, TrainingJob } from "../../client/api.ts";
import { invalid } from "../../../base/domain/service-error.ts";
import { readClientSettings } from "../../server/config.ts";
import { writeVersion } from "../commands/checkpoint-folders.ts";
import { addConnectionFlags, connect, printResult, type ConnectionFlags } from "../connection.ts";
import type { JsonFlag } from "../json-output.ts";
import { findNamed } from "../names/named-version.ts";
import { toJobRequest, listJobHistory } from "./job-history.ts";

interface MoveFlags extends ConnectionFlags, JsonFlag {
  readonly to?: string;
  readonly toKey?: string;
  readonly as?: string;
  readonly merged?: string;
  readonly goOn?: boolean;
  readonly dryRun?: boolean;
}

const about = `
Trainers cannot exchange adapters or optimizer state, so there are two ways to move a model.

Without --merged, Hone registers a new model on the server with the new trainer. It then replays there, one after the other,
the jobs that made the version, with their data and settings. The new weights are close to the old ones, but not equal.
Versions count from 1. --go-on resumes an interrupted move, and sends no job twice.

With --merged, Hone merges the version into the weights of its base model. They are exact, except that they are rounded to
the number type of the base. Start the trainer and a server with the new folder as base model. A new model on this base
starts where the old one ended.`;

/**
 * Adds the subcommand `move`.
 *
 * @param models the command `hone models`
 */
export function addMoveCommand(models: Command): void {
  addConnectionFlags(
    models
      .command("move <name>")
      .description(
        "Move a model, or one version (project/name:step3), to another trainer by replaying its jobs or copying its weights.",
      ),
  )
    .option(
      "--to <address>",
      "address of the server with the new trainer (default: the same server, restarted with the new trainer)",
    )
    .option("--to-key <key>", "API key of the server that --to names (HONE_TO_API_KEY)")
    .option("--as <name>", "project/name of the new model (default with --to: the same name)")
    .option("--go-on", "resume an interrupted move to an existing model")
    .option(
      "--merged <folder>",
      "instead of replaying jobs, write the base model with the version merged into it to this new folder",
    )
    .option("--dry-run", "only show what would be done")
    .option("--json", "print JSON")
    .addHelpText("after", about)
    .action(move);
}

async function move(name: string, flags: MoveFlags): Promise<void> {
  const client = connect(flags);
  const { model, step: named } = await findNamed(client, name);
  const step = named ?? (await client.checkpoints.list(model.id).all()).at(-1)?.step ?? 0;
  if (step === 0)
    throw invalid(
      `${nameOf(model)} has no versions yet; register it where you want to train it: hone models create.`,
    );
  const source: Source = { client, model, step };
  await (flags.merged === undefined ? moveByReplay(source, flags) : moveByMerge(source, flags.merged, flags));
}

interface Source {
  readonly client: Hone;
  readonly model: ModelObject;
  readonly step: number;
}

async function moveByMerge({ client, model, step }: Source, out: string, flags: MoveFlags): Promise<void> {
  const folder = resolve(out);
  if (flags.dryRun !== true) await writeVersion(client, { model, step, format: "merged", folder });
  const base = `${model.name}-${step}`;
  const next = [
    `start the trainer on ${folder} as its base model`,
    `hone serve --model ${base}=${folder} --trainer '<trainer>?kind=<kind>&base.${base}=<the trainer's name for it>'`,
    `hone models create ${model.project} <name> --base-model ${base}`,
  ];
  const result = { model: nameOf(model), step, weights: "exact", optimizer_state: false, folder, next };
  const verb = flags.dryRun === true ? "would merge" : "merged";
  const lines = [
    `${verb} version ${step} of ${nameOf(model)} into its base's weights: ${folder}`,
    "the weights are preserved, the optimizer state is reset; next:",
    ...next.map((line) => `  ${line}`),
  ];
  printResult({ ...result, dry_run: flags.dryRun === true }, lines.join("\n"), flags);
}

async function moveByReplay(source: Source, flags: MoveFlags): Promise<void> {
  const { client, model, step } = source;
  const place = placeOf(model, flags);
  const jobs = await listJobHistory(client, model, step);
  const plan = {
    model: nameOf(model),
    step,
    to: flags.to ?? null,
    as: `${place.project}/${place.name}`,
    weights: "trained again",
    optimizer_state: false,
  };
  if (flags.dryRun === true) {
    const told = jobs.map((job) => ({ job_id: job.id, step: job.result_step, counts: job.counts }));
    const lines = [
      `would replay ${jobs.length} jobs for ${plan.as}:`,
      ...jobs.map(
        (job, index) =>
          `  ${index + 1}. job ${job.id}, which made version ${job.result_step}${describeSize(job)}`,
      ),
      "the new weights will be close to the old ones, not equal; the optimizer state is reset",
    ];
    printResult({ ...plan, dry_run: true, jobs: told }, lines.join("\n"), flags);
    return;
  }
  const target = flags.to === undefined ? client : clientAt(flags.to, flags);
  const isNew = flags.goOn !== true;
  const made = await target.models.create({
    ...place,
    base_model: model.base_model,
    lora_rank: model.lora_rank,
    lora_alpha: model.lora_alpha,
    target_modules: model.target_modules,
    return_existing: !isNew,
  });
  const trained = await replayJobs(source, jobs, { target, made, isNew, say: createReporter(flags) });
  const result = { ...plan, dry_run: false, model_id: made.id, jobs: trained };
  const where = flags.to === undefined ? "" : ` at ${flags.to}`;
  const version = trained.at(-1)?.step ?? 0;
  printResult(result, `${plan.model} continues as ${nameOf(made)}${where}, version ${version}`, flags);
}

interface ReplayedJob {
  readonly job_id: string;
  readonly new_job_id: string;
  readonly step: number | null;
  readonly warnings: readonly string[];
}

/** Submits jobs one after another and waits for each. Idempotency keys make an interrupted move resumable. */
async function replayJobs(
  { client, model }: Source,
  jobs: readonly TrainingJob[],
  {
    target,
    made,
    isNew,
    say,
  }: {
    readonly target: Hone;
    readonly made: ModelObject;
    readonly isNew: boolean;
    readonly say: (line: string) => void;
  },
): Promise<readonly ReplayedJob[]> {
  const trained: ReplayedJob[] = [];
  for (const [index, job] of jobs.entries()) {
    const which = `job ${index + 1} of ${jobs.length}`;
    const body = { model_id: made.id, ...(await toJobRequest(client, model, job)) };
    const options = { idempotencyKey: `move ${job.id} ${made.id}` };
    const { id } = await target.jobs.create(body, options).catch(async (error: unknown) => {
      // Deletes the new model if its first job is refused, because it would have no version.
      if (isNew && index === 0) await target.models.delete(made.id);
      throw error;
    });
    say(`${which}: ${body.trajectory_groups?.length} groups, submitted as ${id}`);
    const { result_step: step, warnings } = await target.jobs.wait(id);
    for (const warning of warnings) say(`${which}: ${warning}`);
    say(`${which}: version ${step}`);
    trained.push({ job_id: job.id, new_job_id: id, step, warnings });
  }
  return trained;
}

/**
 * Returns the new model's name.
 *
 * @throws ServiceError `invalid` for an invalid name, or if the flags give neither a new name nor another server
 */
function placeOf(
  model: ModelObject,
  { to, as }: MoveFlags,
): { readonly project: string; readonly name: string; readonly entity?: string } {
  if (as === undefined && to === undefined)
    throw invalid(`Name the new model (--as project/name), or another server (--to).`);
  const [name, project, entity, ...rest] = (as ?? `${model.project}/${model.name}`).split("/").toReversed();
  if (project === undefined || rest.length > 0)
    throw invalid(`The name is ${as}; write project/name, or entity/project/name.`);
  return { project, name, ...(entity === undefined ? {} : { entity }) };
}

/** Returns a client for the target server. It never uses the source server's key. */
function clientAt(baseUrl: string, { toKey }: MoveFlags): Hone {
  return new Hone({ baseUrl, apiKey: toKey ?? readClientSettings().toApiKey, retries: 0 });
}

/** Returns a function that prints a progress line, or with --json does nothing. */
function createReporter({ json }: JsonFlag): (line: string) => void {
  return (line) => void (json === true || process.stderr.write(`${line}\n`));
}

function describeSize({ counts }: TrainingJob): string {
  return counts === null ? "" : `: ${counts.groups_submitted} groups of ${counts.trajectories} trajectories`;
}

function nameOf({ entity, project, name }: ModelObject): string {
  return `${entity}/${project}/${name}`;
}
