// `hone models versions`, `pin`, `unpin` and `accept-base`: manage the versions of a trained model.
import type { Command } from "commander";
import { addConnectionFlags, connect, printResult, printRows, type ConnectionFlags } from "../connection.ts";
import type { JsonFlag } from "../json-output.ts";
import { findNamed, findNamedStep } from "../names/named-version.ts";
import { shortNumber } from "../watch/charts.ts";

/**
 * Adds the subcommands for versions.
 *
 * @param models the command `hone models`
 */
export function addVersionCommands(models: Command): void {
  addConnectionFlags(
    models
      .command("versions <name>")
      .description("List the versions of a trained model with their metrics, oldest first."),
  )
    .option("--json", "print JSON")
    .action(async (name: string, flags: ConnectionFlags & JsonFlag) => {
      const client = connect(flags);
      const { model } = await findNamed(client, name);
      const versions = (await client.checkpoints.list(model.id).all()).map((version) => ({ ...version }));
      const names = shownMetrics(versions);
      const rows = versions.map((version) => ({
        ...version,
        ...(flags.json !== true && {
          held: version.held?.state,
          ...Object.fromEntries(names.map((name) => [name, shortened(version.metrics[name])])),
        }),
      }));
      const held = versions.some((version) => version.held !== null) ? ["held"] : [];
      printRows(rows, { ...flags, columns: ["step", "created_at", "pinned", ...held, "job_id", ...names] });
      const others = new Set(versions.flatMap(({ metrics }) => Object.keys(metrics))).size - names.length;
      if (flags.json !== true && others > 0) process.stderr.write(`(${others} more metrics with --json)\n`);
    });
  addConnectionFlags(
    models
      .command("accept-base <name>")
      .description(
        "Allow a model's versions to run with the current weights of its base model, although these weights have changed. The versions may then give different answers.",
      ),
  )
    .option("--json", "print JSON")
    .action(async (name: string, flags: ConnectionFlags & JsonFlag) => {
      const client = connect(flags);
      const { model } = await findNamed(client, name);
      const accepted = await client.models.acceptBase(model.id);
      const { base_model: base, base_hash: hash, accepted_steps: steps } = accepted;
      const which = steps.length === 0 ? "no version had been refused" : `versions ${steps.join(", ")}`;
      printResult(accepted, `${name} now accepts ${base} ${hash.slice(0, 12)}: ${which}`, flags);
    });
  for (const { verb, pinned, description } of [
    { verb: "pin", pinned: true, description: "Protect a version (name:step3) from automatic deletion." },
    {
      verb: "unpin",
      pinned: false,
      description: "Unpin a version (name:step3), so that it may be deleted automatically again.",
    },
  ]) {
    addConnectionFlags(models.command(`${verb} <name:stepN>`).description(description))
      .option("--json", "print JSON")
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

/** Metrics that say most about a version. The table shows the ones that at least one version has. */
const mainMetrics = ["val/reward", "data/reward", "train/reward", "val/loss", "train/loss", "loss", "kl_div"];

function shownMetrics(
  versions: readonly { readonly metrics: Readonly<Record<string, unknown>> }[],
): readonly string[] {
  const names = new Set(versions.flatMap(({ metrics }) => Object.keys(metrics)));
  const known = mainMetrics.filter((name) => names.has(name));
  return known.length > 0 ? known : [...names].slice(0, 3);
}

function shortened(value: unknown): unknown {
  return typeof value === "number" ? shortNumber(value) : value;
}
