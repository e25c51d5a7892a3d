// `hone models versions`, `pin`, `unpin` and `accept-base`: the versions of a trained model.
import type { Command } from "commander";
import {
  addConnectionFlags,
  connect,
  printResult,
  printRows,
  type ConnectionFlags,
  type JsonFlag,
} from "../connection.ts";
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
      const versions = (await client.checkpoints.list(model.id).all()).map((version) => ({ ...version }));
      printRows(versions, { ...flags, columns: ["step", "created_at", "pinned", "job_id", "metrics"] });
    });
  addConnectionFlags(
    models
      .command("accept-base <name>")
      .description(
        "Accept the weights that a model's base has now, for versions that were trained over others: they answer otherwise than before.",
      ),
  )
    .option("--json", "as JSON")
    .action(async (name: string, flags: ConnectionFlags & JsonFlag) => {
      const client = connect(flags);
      const { model } = await findNamed(client, name);
      const accepted = await client.models.acceptBase(model.id);
      const { base_model: base, base_hash: hash, accepted_steps: steps } = accepted;
      const which = steps.length === 0 ? "no version was refused" : `versions ${steps.join(", ")}`;
      printResult(accepted, `${name} is over ${base} ${hash.slice(0, 12)} now: ${which}`, flags);
    });
  for (const { verb, pinned, description } of [
    {
      verb: "pin",
      pinned: true,
      description: "Keep a version, such as project/name:step3, until it is unpinned.",
    },
    { verb: "unpin", pinned: false, description: "Let a version go that is pinned." },
  ]) {
    addConnectionFlags(models.command(`${verb} <name:stepN>`).description(description))
      .option("--json", "as JSON")
      .action(async (name: string, flags: ConnectionFlags & JsonFlag) => {
        const client = connect(flags);
        const { model, step } = await findNamedStep(client, name);
        const version = await (pinned
          ? client.checkpoints.pin(model.id, step)
          : client.checkpoints.unpin(model.id, step));
        printResult(version, `${verb}ned ${name}`, flags);
      });
  }
}
