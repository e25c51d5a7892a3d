// `hone models export` writes a version of a trained model to a folder that other programs can read. `hone models
// import` imports another program's adapter as a version.
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Command, Option } from "commander";
import { fileToArchive, tarOf } from "../../../lib/archives/tar-stream.ts";
import { unpackInto } from "../../../lib/archives/unpack.ts";
import type { Hone } from "../../client/hone.ts";
import type { ModelObject } from "../../client/api.ts";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import { sizeText } from "../../../base/domain/text/size-text.ts";
import { fullDiskError } from "../../../base/domain/transient-errors/full-disk.ts";
import { addConnectionFlags, connect, printResult, type ConnectionFlags } from "../connection.ts";
import type { JsonFlag } from "../json-output.ts";
import { AddScreen } from "../add-screen.ts";
import { findNamed } from "../names/named-version.ts";

const formats = ["peft", "merged", "gguf", "gguf-adapter"] as const;
const quantizations = ["f32", "f16", "bf16", "q8_0", "q4_0"] as const;

interface ExportFlags extends ConnectionFlags, JsonFlag {
  readonly format: (typeof formats)[number];
  readonly quantize?: (typeof quantizations)[number];
  readonly out: string;
}

/**
 * Adds the subcommands `export` and `import`.
 *
 * @param models the command `hone models`
 */
export function addFolderCommands(models: Command): void {
  addConnectionFlags(
    models
      .command("export <name>")
      .description("Export a version (project/name:step3; default: the newest) to a folder."),
  )
    .addOption(
      new Option(
        "--format <format>",
        "form of the export. With `peft`, an adapter for PEFT and vLLM. With `merged`, a whole model that has the adapter merged into its weights. With `gguf`, the merged model as one file for llama.cpp, and a Modelfile for Ollama. With `gguf-adapter`, the adapter as a file for llama.cpp",
      )
        .choices(formats)
        .default("peft"),
    )
    .addOption(
      new Option(
        "--quantize <type>",
        "number type of the weights, only with --format gguf (default: the base model's)",
      ).choices(quantizations),
    )
    .requiredOption("--out <folder>", "new folder to write")
    .option("--json", "print JSON")
    .action(exportVersion);
  addConnectionFlags(
    models
      .command("import <folder>")
      .description(
        "Import a PEFT folder as the next version of a model, registering the model if it is new.",
      ),
  )
    .requiredOption("--name <name>", "name of the model: project/name, or entity/project/name")
    .option("--base-model <name>", "base model, if the model is new")
    .option("--json", "print JSON")
    .action(importAdapter);
}

interface ImportFlags extends ConnectionFlags, JsonFlag {
  readonly name: string;
  readonly baseModel?: string;
}

async function importAdapter(folder: string, flags: ImportFlags): Promise<void> {
  const client = connect(flags);
  const paths = ["adapter_config.json", "adapter_model.safetensors"].map((name) => join(folder, name));
  const missing = paths.find((path) => !existsSync(path));
  if (missing !== undefined) throw invalid(`${missing} does not exist; name a PEFT folder with safetensors.`);
  const files = await Promise.all(paths.map(fileToArchive));
  const { model, isNew } = await findOrRegister(client, flags);
  try {
    const version = await client.checkpoints.import(model.id, tarOf(files, new Date(0)));
    const name = `${model.entity}/${model.project}/${model.name}:step${version.step}`;
    printResult({ name, ...version }, `imported ${name}`, flags);
  } catch (error) {
    // Deletes the model if this command has registered it, because it would have no version.
    if (isNew) await client.models.delete(model.id);
    throw error;
  }
}

async function findOrRegister(
  client: Hone,
  { name, baseModel }: ImportFlags,
): Promise<{ readonly model: ModelObject; readonly isNew: boolean }> {
  const [modelName, project, entity, ...rest] = name.split("/").toReversed();
  if (project === undefined || rest.length > 0)
    throw invalid(`The name is ${name}; write project/name, or entity/project/name.`);
  const own = entity === undefined ? {} : { entity };
  const known = await client.models.list({ ...own, project, name: modelName }).all();
  if (known.length > 1) throw invalid(`${name} matches ${known.length} models; write entity/project/name.`);
  const [existing] = known;
  if (existing !== undefined) {
    if (baseModel === undefined || baseModel === existing.base_model)
      return { model: existing, isNew: false };
    throw invalid(`${name} has the base model ${existing.base_model}, not ${baseModel}.`);
  }
  if (baseModel === undefined)
    throw invalid(`There is no model ${name}; to create it, name its base model with --base-model.`);
  return {
    model: await client.models.create({
      ...own,
      project,
      name: modelName,
      base_model: baseModel,
      return_existing: true,
    }),
    isNew: true,
  };
}

async function exportVersion(name: string, flags: ExportFlags): Promise<void> {
  const folder = resolve(flags.out);
  requireNew(folder);
  const client = connect(flags);
  const { model, step: named } = await findNamed(client, name);
  const step = named ?? (await client.checkpoints.list(model.id).all()).at(-1)?.step ?? 0;
  const { format, quantize } = flags;
  if (quantize !== undefined && format !== "gguf")
    throw invalid(`--quantize ${quantize} needs --format gguf; the format is ${format}.`);
  await writeVersion(client, { model, step, format, folder, ...(quantize && { quantize }) });
  const fullName = `${model.entity}/${model.project}/${model.name}`;
  const written = { model: fullName, step, format: flags.format, folder };
  printResult(written, `wrote version ${step} of ${fullName} to ${folder}`, flags);
}

/**
 * Downloads a version's files into a new folder.
 *
 * @throws ServiceError `invalid` if the folder exists; HoneError if the server does not return the version
 */
export async function writeVersion(
  client: Hone,
  {
    model,
    step,
    folder,
    ...choice
  }: Pick<ExportFlags, "format" | "quantize"> & {
    readonly model: ModelObject;
    readonly step: number;
    readonly folder: string;
  },
): Promise<void> {
  requireNew(folder);
  let bytesInAll = 0;
  const onByteCount = (byteCount: number): void => void (bytesInAll = byteCount);
  const answer = await client.checkpoints.export(model.id, step, choice, { onByteCount });
  // Renames the folder to its final name when it is complete. An interruption thus leaves nothing under that name.
  const unfinished = `${folder}.partial-${process.pid}`;
  await mkdir(unfinished, { recursive: true });
  try {
    await unpackInto(unfinished, withProgress(answer, bytesInAll), { bytesMax: Infinity });
    await rename(unfinished, folder);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw fullDiskError(error) === null ? error : diskFull(folder, bytesInAll, error);
  }
}

function diskFull(folder: string, bytesInAll: number, cause: unknown): ServiceError {
  const message = `The disk of ${folder} is full; the export takes ${sizeText(bytesInAll)}. Make room, or name a folder on another disk with --out.`;
  return new ServiceError({ code: "unavailable", message, cause });
}

/** Size in bytes from which an archive's progress is shown. Smaller archives take only a moment. */
const shownBytesMin = 64 * 1024 * 1024;

/** Yields the pieces unchanged, and shows on standard error how many bytes have passed. */
async function* withProgress(
  pieces: AsyncIterable<Uint8Array>,
  bytesInAll: number,
): AsyncGenerator<Uint8Array, void> {
  if (bytesInAll < shownBytesMin) {
    yield* pieces;
    return;
  }
  const screen = new AddScreen(process.stderr);
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      bytes += piece.length;
      screen.show({ kind: "bytes", file: "export", bytes, bytesInAll });
      yield piece;
    }
  } finally {
    screen.end();
  }
}

function requireNew(folder: string): void {
  if (existsSync(folder)) throw invalid(`${folder} exists; name a new folder.`);
}
