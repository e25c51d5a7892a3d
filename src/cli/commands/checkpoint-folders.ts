// `hone models export`: a version of a trained model as a folder that other programs load.
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { unpackInto } from "../../archives/unpack.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { addConnectionFlags, connect, type ConnectionFlags } from "../connection.ts";
import { findNamed } from "../named-version.ts";

type ExportFlags = ConnectionFlags & { readonly format: "peft" | "merged"; readonly out: string };

/** @param models the command `hone models` */
export function addFolderCommands(models: Command): void {
  addConnectionFlags(
    models
      .command("export <name>")
      .description("Write a version, the newest unless named (project/name:step3), as a folder."),
  )
    .addOption(
      new Option(
        "--format <format>",
        "an adapter for PEFT and vLLM, or a model with the adapter in its weights",
      )
        .choices(["peft", "merged"])
        .default("peft"),
    )
    .requiredOption("--out <folder>", "a folder that is not there yet")
    .action(exportVersion);
}

async function exportVersion(name: string, flags: ExportFlags): Promise<void> {
  const folder = resolve(flags.out);
  if (existsSync(folder)) throw invalid(`${folder} exists; name a folder that is not there yet.`);
  const client = connect(flags);
  const { model, step: named } = await findNamed(client, name);
  const step = named ?? (await client.listCheckpoints(model.id)).at(-1)?.step ?? 0;
  const answer = await client.exportCheckpoint(model.id, step, flags.format);
  // Whole or not at all: what breaks off on the way leaves no folder of that name.
  const unfinished = `${folder}.partial-${process.pid}`;
  await mkdir(unfinished, { recursive: true });
  try {
    await unpackInto(unfinished, answer, { bytesMax: Infinity });
    await rename(unfinished, folder);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
  process.stdout.write(
    `wrote version ${step} of ${model.entity}/${model.project}/${model.name} to ${folder}\n`,
  );
}

function invalid(message: string): ServiceError {
  return new ServiceError({ code: "invalid", message });
}
