// `hone models add`, `added` and `remove`: manage the base models in the data folder, downloaded from the Hugging Face
// hub or added from local files. Needs no server.
import type { Command } from "commander";
import type { ListedModel } from "../../server/library/model-commands.ts";
import { AddScreen } from "../add-screen.ts";
import { printResult, printRows } from "../connection.ts";
import { sizeText } from "../../../base/domain/text/size-text.ts";
import { printJson } from "../json-output.ts";

interface DataFlags {
  readonly data?: string;
  readonly json?: boolean;
}

interface AddFlags extends DataFlags {
  readonly name?: string;
  readonly withoutWeights?: boolean;
}

const aboutAdding = `
Name a model as on the Hugging Face hub (owner/name). Append :kind to select one of its GGUF files (Q8_0, Q4_K_M, ...), and
@revision to select a branch, tag or commit other than main. You can also add a local file or folder: a GGUF file, or a
folder with config.json, tokenizer.json and safetensors. Hone downloads no other files, and no files that run code when they
are read.

To resume an interrupted download, run the same command again. HF_TOKEN gives access to private and gated models.
HF_ENDPOINT names a mirror.

From its next start, a server serves all added models, or only those that --model names. It serves a model that was added
without its weights only if --model names its vLLM servers.

  hone models add HuggingFaceTB/SmolLM2-135M-Instruct
  hone models add bartowski/SmolLM2-135M-Instruct-GGUF:Q8_0 --name smol
  hone models add ./SmolLM2-135M-Instruct.Q4_1.gguf
  hone models add Qwen/Qwen3-8B --name big --without-weights   # hone serve --model big=vllm+http://host:8000`;

export function addAddedModelCommands(models: Command): void {
  const withFlags = (command: Command): Command =>
    command
      .option("--data <folder>", "the data folder (HONE_DATA; default .hone)")
      .option("--json", "print JSON");
  withFlags(
    models
      .command("add <model>")
      .description("Add a base model from the Hugging Face hub, or from a local file or folder."),
  )
    .option(
      "--name <name>",
      "name of the model on this server (default: the name of the repository, file or folder)",
    )
    .option(
      "--without-weights",
      "download only the configuration and the tokenizer, for a model that vLLM servers run",
    )
    .addHelpText("after", aboutAdding)
    .action(async (model: string, flags: AddFlags) => {
      const { addModel } = await import("../../server/library/model-commands.ts");
      const screen = new AddScreen(process.stderr);
      const stop = (): void => {
        screen.end();
        process.stderr.write("interrupted; run the same command again to resume\n");
        process.exit(130);
      };
      process.once("SIGINT", stop);
      try {
        const added = await addModel(model, flags, (progress) => screen.show(progress));
        screen.end();
        if (flags.json === true) printJson({ ...fieldsOf(added.model), computed_in: added.computing }, flags);
        else process.stdout.write(said(added));
      } finally {
        screen.end();
        process.off("SIGINT", stop);
      }
    });
  withFlags(
    models.command("added").description("List added base models. The command needs no server."),
  ).action(async (flags: DataFlags) => {
    const { listAddedModels } = await import("../../server/library/model-commands.ts");
    const rows = listAddedModels(flags).map((model) => ({
      ...fieldsOf(model),
      ...(flags.json !== true && { size: model.bytes === null ? null : sizeText(model.bytes) }),
    }));
    printRows(rows, { ...flags, columns: ["name", "size", "license", "source", "state"] });
  });
  withFlags(
    models
      .command("remove <name>")
      .description("Remove an added base model, or a partial download of a base model."),
  ).action(async (name: string, flags: DataFlags) => {
    const { removeModel } = await import("../../server/library/model-commands.ts");
    await removeModel(name, flags);
    printResult({ removed: name }, `removed ${name}`, flags);
  });
}

function fieldsOf({ name, state, bytes, license, source, commit, addedAt }: ListedModel) {
  return {
    name,
    state,
    size_bytes: bytes,
    license,
    source,
    commit,
    added_at: addedAt?.toISOString() ?? null,
  };
}

function said({
  model,
  isServed,
  computing,
}: {
  readonly model: ListedModel;
  readonly isServed: boolean;
  readonly computing: string | null;
}): string {
  const { name, bytes, license, source } = model;
  const facts = `${sizeText(bytes ?? 0)}, ${license ?? "unknown licence"}, from ${source}`;
  if (model.state === "without_weights")
    return `added ${name} without its weights (${facts}).\nTo serve it from a vLLM server: \`hone serve --model ${name}=vllm+http://host:8000\`.\n`;
  const next = isServed
    ? `Servers serve it from their next start; \`hone serve --default-model ${name}\` makes it the default.`
    : `Your configuration lists the models to serve: \`hone serve --model ${name}\` serves this one.`;
  return `added ${name} (${facts}).\nThis machine computes it in ${computing}.\n${next}\n`;
}
