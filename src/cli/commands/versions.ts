// `hone models versions`, `pin` and `unpin`: the versions of a trained model.
import type { Command } from "commander";
import { addConnectionFlags, connect, printRows, type ConnectionFlags } from "../connection.ts";
import { findNamed, findNamedStep } from "../named-version.ts";

/** @param models the command `hone models` */
export function addVersionCommands(models: Command): void {
  addConnectionFlags(
    models
      .command("versions <name>")
      .description("List the versions of a trained model with their metrics, the oldest first."),
  )
    .option("--json", "as JSON")
    .action(async (name: string, flags: ConnectionFlags & { readonly json?: boolean }) => {
      const client = connect(flags);
      const { model } = await findNamed(client, name);
      const versions = (await client.listCheckpoints(model.id)).map((version) => ({ ...version }));
      printRows(versions, { ...flags, columns: ["step", "created_at", "pinned", "job_id", "metrics"] });
    });
  for (const { verb, pinned, description } of [
    {
      verb: "pin",
      pinned: true,
      description: "Keep a version, such as project/name:step3, until it is unpinned.",
    },
    { verb: "unpin", pinned: false, description: "Let a version go that is pinned." },
  ]) {
    addConnectionFlags(models.command(`${verb} <name:stepN>`).description(description)).action(
      async (name: string, flags: ConnectionFlags) => {
        const client = connect(flags);
        const { model, step } = await findNamedStep(client, name);
        await client.pinCheckpoint(model.id, step, pinned);
        process.stdout.write(`${verb}ned ${name}\n`);
      },
    );
  }
}
