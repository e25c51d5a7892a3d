// `hone models`: list and manage base models and trained models.
import type { Command } from "commander";
import type { Hone } from "../../client/hone.ts";
import type { ModelCreate, ModelObject, ServedModel } from "../../client/api.ts";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import { sizeText } from "../../../base/domain/text/size-text.ts";
import { addConnectionFlags, connect, printResult, printRows, type ConnectionFlags } from "../connection.ts";
import type { JsonFlag } from "../json-output.ts";
import { findNamed } from "../names/named-version.ts";
import { newName } from "../names/new-name.ts";
import { addMoveCommand } from "../migrate/move-command.ts";
import { addAddedModelCommands } from "./added-models.ts";
import { addMemoryCommands } from "../memory/loaded-models.ts";
import { addCheckCommand } from "./check-model.ts";
import { addFitCommand } from "./fit-models.ts";
import { addFolderCommands } from "./checkpoint-folders.ts";
import { addTrajectoryCommand } from "./stored-trajectories.ts";
import { addVersionCommands } from "./versions.ts";

export function addModelsCommand(program: Command): void {
  const models = program.command("models").description("Manage base models and trained models.");
  addConnectionFlags(
    models
      .command("list", { isDefault: true })
      .description("List base models, and trained models with their newest version."),
  )
    .option("--json", "print JSON")
    .action(async (flags: ConnectionFlags & JsonFlag) => {
      const client = connect(flags);
      const [bases, trained] = await Promise.all([client.served.bases(), client.models.list().all()]);
      const rows = [
        ...(await Promise.all(
          bases.map(async (name) => ({
            name,
            kind: "base",
            base_model: name,
            step: null as number | null,
            id: null as string | null,
            ...adaptersOf({}),
            ...servedFacts(await client.served.get(name)),
          })),
        )),
        ...(await Promise.all(
          trained.map(async (model) => ({
            name: `${model.entity}/${model.project}/${model.name}`,
            kind: "trained",
            base_model: model.base_model,
            step: (await client.checkpoints.list(model.id).all()).at(-1)?.step ?? 0,
            id: model.id,
            ...adaptersOf(model),
            memory: null,
            weights: null,
            weight_bytes: null,
            license: null,
          })),
        )),
      ];
      printRows(rows, {
        ...flags,
        columns: ["name", "kind", "base_model", "step", "id", "adapters", "memory", "weights", "license"],
      });
    });
  addConnectionFlags(
    models
      .command("create <project> [name]")
      .description(
        "Register a model to train. Give it as `project/name`, or as two arguments. If a model of this name exists, show it; with --from, fail instead.",
      ),
  )
    .option("--base-model <name>", "base model to train")
    .option(
      "--from <name[:stepN]>",
      "version of another model to start from; the new model must have the same base model",
    )
    .option("--entity <entity>", "owner of the model (default: the key's entity)")
    .option(
      "--lora-rank <rank>",
      "LoRA rank of the model's adapters, 1 to 256 (default: the server's setting)",
      Number,
    )
    .option(
      "--lora-alpha <alpha>",
      "LoRA alpha of the model's adapters; alpha divided by the rank is their scale (default: twice the rank)",
      Number,
    )
    .option(
      "--target-modules <names>",
      "projections that get adapters, such as q_proj,v_proj (default: all)",
      (text: string) => text.split(","),
    )
    .option("--json", "print JSON")
    .action(
      async (
        project: string,
        name: string | undefined,
        flags: ConnectionFlags & {
          readonly baseModel?: string;
          readonly from?: string;
          readonly entity?: string;
          readonly loraRank?: number;
          readonly loraAlpha?: number;
          /** Module names as typed by the user; the server validates them. */
          readonly targetModules?: ModelCreate["target_modules"];
          readonly json?: boolean;
        },
      ) => {
        const client = connect(flags);
        const model = await client.models.create({
          ...newName(project, name),
          return_existing: flags.from === undefined,
          ...(await startOf(client, flags)),
          ...(flags.entity === undefined ? {} : { entity: flags.entity }),
          ...(flags.loraRank === undefined ? {} : { lora_rank: flags.loraRank }),
          ...(flags.loraAlpha === undefined ? {} : { lora_alpha: flags.loraAlpha }),
          ...(flags.targetModules === undefined ? {} : { target_modules: flags.targetModules }),
        });
        printRows([{ ...model, ...adaptersOf(model) }], {
          ...flags,
          columns: ["entity", "project", "name", "base_model", "id", "adapters"],
        });
      },
    );
  addConnectionFlags(
    models
      .command("delete <name>")
      .description(
        "Delete a trained model (by name or id) with its versions, jobs and logs, or only one version (project/name:step3).",
      ),
  )
    .option("--json", "print JSON")
    .action(async (name: string, flags: ConnectionFlags & JsonFlag) => {
      const client = connect(flags);
      const { model, step } = await findNamed(client, name);
      if (step === null) await client.models.delete(model.id);
      else refuseKept(name, await client.checkpoints.delete(model.id, [step]));
      printResult({ deleted: name, model_id: model.id, step }, `deleted ${name}`, flags);
    });
  addAddedModelCommands(models);
  addMemoryCommands(models);
  addCheckCommand(models);
  addFitCommand(models);
  addVersionCommands(models);
  addFolderCommands(models);
  addTrajectoryCommand(models);
  addMoveCommand(models);
}

/**
 * Formats a base model's state and its maximum memory. The memory has two numbers: everything but the KV cache, and the
 * maximum size of the KV cache.
 */
function memoryText({
  value,
  reason,
  memory_bytes: all,
  key_value_bytes: keysAndValues,
}: NonNullable<ServedModel["status"]>): string {
  if (value === "failed") return `failed: ${reason}`;
  return `${value}, ${sizeText(all - keysAndValues)} + KV cache up to ${sizeText(keysAndValues)}`;
}

type AdapterFields = Pick<ModelObject, "lora_rank" | "lora_alpha" | "target_modules">;

/** Returns a base model's memory, weight size and license. */
function servedFacts({ status, files }: ServedModel) {
  return {
    memory: status && memoryText(status),
    weights: files && sizeText(files.weight_bytes),
    weight_bytes: files?.weight_bytes ?? null,
    license: files?.license ?? null,
  };
}

/** Returns the adapter settings that a model overrides, and a short text that describes them. */
function adaptersOf({
  lora_rank = null,
  lora_alpha = null,
  target_modules = null,
}: Partial<AdapterFields>): AdapterFields & {
  readonly adapters?: string;
} {
  const wishes = [
    ...(lora_rank === null ? [] : [`rank ${lora_rank}`]),
    ...(lora_alpha === null ? [] : [`alpha ${lora_alpha}`]),
    ...(target_modules === null ? [] : [`on ${target_modules.join(" ")}`]),
  ];
  const wish = { lora_rank, lora_alpha, target_modules };
  return wishes.length === 0 ? wish : { ...wish, adapters: wishes.join(", ") };
}

/** Returns the base model of a new model. If --from names another model, also returns the version to start from. */
async function startOf(
  client: Hone,
  { baseModel, from }: { readonly baseModel?: string; readonly from?: string },
): Promise<Pick<ModelCreate, "base_model" | "from">> {
  if (from !== undefined) {
    const { model, step } = await findNamed(client, from);
    const source = { model: model.id, ...(step === null ? {} : { step }) };
    return { base_model: baseModel ?? model.base_model, from: source };
  }
  if (baseModel !== undefined) return { base_model: baseModel };
  throw invalid("Name a starting point for the model: --base-model <name>, or --from <name[:stepN]>.");
}

/**
 * Fails if the server kept the version instead of deleting it.
 *
 * @throws ServiceError `conflict` with the reason
 */
function refuseKept(
  name: string,
  deletion: { readonly pinned_steps: readonly number[]; readonly in_use_steps: readonly number[] },
): void {
  const isPinned = deletion.pinned_steps.length > 0;
  if (!isPinned && deletion.in_use_steps.length === 0) return;
  const reason = isPinned
    ? `is pinned; \`hone models unpin ${name}\` unpins it`
    : "is in use by a training job; delete it when the job has ended";
  throw new ServiceError({ code: "conflict", message: `${name} ${reason}.` });
}
