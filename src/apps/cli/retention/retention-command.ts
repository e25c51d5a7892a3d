// `hone retention`: show retention limits and recent removals, and remove expired data.
import type { Command } from "commander";
import { sizeText } from "../../../base/domain/text/size-text.ts";
import type { Retention, RetentionSweep } from "../../client/api.ts";
import { addConnectionFlags, connect, printRows, type ConnectionFlags } from "../connection.ts";
import { type JsonFlag, printJson } from "../json-output.ts";

export function addRetentionCommand(program: Command): void {
  const retention = program
    .command("retention")
    .description("Show retention limits, and remove the data that exceeds them.");
  addConnectionFlags(
    retention
      .command("show", { isDefault: true })
      .description("Show retention limits, storage in use, and recent removals."),
  )
    .option("--entity <entity>", "only this entity")
    .option("--json", "print JSON")
    .action(async ({ entity, ...flags }: ConnectionFlags & JsonFlag & { readonly entity?: string }) => {
      const found = await connect(flags).retention.get(entity === undefined ? {} : { entity });
      if (flags.json === true) printJson(found, flags);
      else showRetention(found);
    });
  addConnectionFlags(
    retention
      .command("sweep")
      .description(
        "Remove at once the data that exceeds the retention limits. The server also removes it automatically, every minute.",
      ),
  )
    .option("--dry-run", "only show what would be removed")
    .option("--json", "print JSON")
    .action(async ({ dryRun, ...flags }: ConnectionFlags & JsonFlag & { readonly dryRun?: boolean }) => {
      const swept = await connect(flags).retention.sweep({ dry_run: dryRun === true });
      if (flags.json === true) printJson(swept, flags);
      else showSweep(swept);
    });
}

function showRetention({ stored, quota_bytes: quotaBytes, rules, removed }: Retention): void {
  const total = Object.values(stored).reduce((sum, bytes) => sum + bytes, 0);
  const quota = quotaBytes === null ? "" : ` of ${sizeText(quotaBytes)}`;
  const parts = Object.entries(stored).map(([kind, bytes]) => `${kind} ${sizeText(bytes)}`);
  process.stdout.write(`stored: ${sizeText(total)}${quota} (${parts.join(", ")})\n\n`);
  printRows(
    rules.map((rule) => ({ ...rule })),
    { columns: ["kind", "days", "entity_bytes", "model_count", "stored_bytes"] },
  );
  if (removed.length === 0) return;
  process.stdout.write("\nremoved:\n");
  printRows(
    removed.map((one) => ({ ...one })),
    { columns: ["day", "kind", "entity", "count", "bytes"] },
  );
}

function showSweep({ dry_run: isDry, removed, is_complete: isComplete }: RetentionSweep): void {
  process.stdout.write(isDry ? "would be removed:\n" : "removed:\n");
  printRows(
    removed.map((one) => ({ ...one })),
    { columns: ["kind", "entity", "count", "bytes"] },
  );
  if (!isComplete)
    process.stderr.write("The sweep ran out of time; the server removes the rest automatically.\n");
}
