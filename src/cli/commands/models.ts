// `hone models`: what the server can serve and what it trains.
import type { Command } from "commander";
import { addConnectionFlags, connect, printRows, type ConnectionFlags } from "../connection.ts";

export function addModelsCommand(program: Command): void {
  const models = program.command("models").description("Base models and trained models.");
  addConnectionFlags(
    models
      .command("list", { isDefault: true })
      .description("List base models and trained models with their newest step."),
  )
    .option("--json", "as JSON")
    .action(async (flags: ConnectionFlags & { readonly json?: boolean }) => {
      const client = connect(flags);
      const [bases, trained] = await Promise.all([client.listBaseModels(), client.listModels()]);
      const rows = [
        ...bases.map((name) => ({
          name,
          kind: "base",
          base_model: name,
          step: null as number | null,
          id: null as string | null,
        })),
        ...(await Promise.all(
          trained.map(async (model) => ({
            name: `${model.entity}/${model.project}/${model.name}`,
            kind: "trained",
            base_model: model.base_model,
            step: (await client.listCheckpoints(model.id)).at(-1)?.step ?? 0,
            id: model.id,
          })),
        )),
      ];
      printRows(rows, { ...flags, columns: ["name", "kind", "base_model", "step", "id"] });
    });
  addConnectionFlags(
    models
      .command("create <project> <name>")
      .description("Register a model to train; returns the one of that name when there is one."),
  )
    .requiredOption("--base-model <name>", "the base model to train")
    .option("--entity <entity>", "default: the key's entity")
    .option("--json", "as JSON")
    .action(
      async (
        project: string,
        name: string,
        flags: ConnectionFlags & {
          readonly baseModel: string;
          readonly entity?: string;
          readonly json?: boolean;
        },
      ) => {
        const model = await connect(flags).registerModel({
          project,
          name,
          base_model: flags.baseModel,
          ...(flags.entity === undefined ? {} : { entity: flags.entity }),
        });
        printRows([{ ...model }], { ...flags, columns: ["entity", "project", "name", "base_model", "id"] });
      },
    );
  addConnectionFlags(
    models.command("delete <id>").description("Delete a trained model with its versions, jobs and logs."),
  ).action(async (id: string, flags: ConnectionFlags) => {
    await connect(flags).deleteModel(id);
    process.stdout.write(`deleted ${id}\n`);
  });
}
