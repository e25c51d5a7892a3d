// `hone models add`, `added` and `remove`: base models of the hub, or from files, in the data folder itself; no server needed.
import type { Command } from "commander";
import type { ListedModel } from "../../server/library/model-commands.ts";
import { AddScreen } from "../add-screen.ts";
import { printRows } from "../connection.ts";
import { sizeText } from "../../../base/domain/text/size-text.ts";

interface DataFlags {
  readonly data?: string;
  readonly json?: boolean;
}

interface AddFlags extends DataFlags {
  readonly name?: string;
  readonly withoutWeights?: boolean;
}

const aboutAdding = `
A model is named as the Hugging Face hub has it, owner/name; :kind behind it takes one of its GGUF files (Q8_0, Q4_K_M, ...),
@revision another branch, tag or commit than main. What is a file or a folder here is taken from there: a GGUF file, or a
folder with config.json, tokenizer.json and safetensors. Nothing else is taken, and nothing that runs code when it is read.

An addition that was ended goes on when the same command is run again. HF_TOKEN is for models that are private or have
conditions, HF_ENDPOINT for a mirror. Servers serve all models that were added, or those that --model names, from their
next start on; what was added without its weights is served where --model names its vLLM servers.

  hone models add HuggingFaceTB/SmolLM2-135M-Instruct
  hone models add bartowski/SmolLM2-135M-Instruct-GGUF:Q8_0 --name smol
  hone models add ./SmolLM2-135M-Instruct.Q4_1.gguf
  hone models add Qwen/Qwen3-8B --name big --without-weights   # hone serve --model big=vllm+http://host:8000`;

export function addAddedModelCommands(models: Command): void {
  const withFlags = (command: Command): Command =>
    command
      .option("--data <folder>", "the data folder (HONE_DATA; default .hone)")
      .option("--json", "as JSON");
  withFlags(
    models
      .command("add <model>")
      .description("Add a base model: of the Hugging Face hub, or from a file or folder."),
  )
    .option("--name <name>", "what it is called here (default: as the repository, the file or the folder)")
    .option("--without-weights", "take only what describes it: vLLM servers compute it")
    .addHelpText("after", aboutAdding)
    .action(async (model: string, flags: AddFlags) => {
      const { addModel } = await import("../../server/library/model-commands.ts");
      const screen = new AddScreen(process.stderr);
      const stop = (): void => {
        screen.end();
        process.stderr.write("ended; the same command goes on from here\n");
        process.exit(130);
      };
      process.once("SIGINT", stop);
      try {
        const added = await addModel(model, flags, (progress) => screen.show(progress));
        screen.end();
        process.stdout.write(
          flags.json === true
            ? `${JSON.stringify({ ...fieldsOf(added.model), computed_in: added.computing }, null, 2)}\n`
            : said(added),
        );
      } finally {
        screen.end();
        process.off("SIGINT", stop);
      }
    });
  withFlags(
    models.command("added").description("List the base models that were added; no server needed."),
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
      .description("Remove a base model that was added, or what there is of one that is not all there yet."),
  ).action(async (name: string, flags: DataFlags) => {
    const { removeModel } = await import("../../server/library/model-commands.ts");
    await removeModel(name, flags);
    process.stdout.write(
      flags.json === true ? `${JSON.stringify({ removed: name })}\n` : `removed ${name}\n`,
    );
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
  const facts = `${sizeText(bytes ?? 0)}, ${license ?? "licence unknown"}, from ${source}`;
  if (model.state === "without_weights")
    return `added ${name} without its weights (${facts}).\n\`hone serve --model ${name}=vllm+http://host:8000\` serves it by a vLLM server.\n`;
  const next = isServed
    ? `Servers serve it from their next start on; \`hone serve --default-model ${name}\` makes it the default.`
    : `The configuration names what is served: \`hone serve --model ${name}\` serves this one.`;
  return `added ${name} (${facts}).\nThis machine computes it in ${computing}.\n${next}\n`;
}
