// `hone feedback export`: write a project's feedback to a file.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import { addConnectionFlags, connect, type ConnectionFlags } from "../connection.ts";
import { writeWhole } from "../written-file.ts";
import { addSelectionFlags, projectIdOf, queryOf, type SelectionFlags } from "./selection.ts";

interface ExportFlags extends ConnectionFlags, SelectionFlags {
  readonly format: "jsonl" | "csv";
  readonly fields?: readonly string[];
  readonly after?: string;
  readonly out?: string;
}

/**
 * Adds the subcommand `export`.
 *
 * @param feedback the command `hone feedback`
 */
export function addExportCommand(feedback: Command): void {
  addConnectionFlags(
    addSelectionFlags(
      feedback
        .command("export <project>")
        .description(
          "Export a project's feedback, one record per line, in the order in which it was stored.",
        ),
    ),
  )
    .addOption(new Option("--format <format>", "output format").choices(["jsonl", "csv"]).default("jsonl"))
    .option("--fields <field...>", "fields to write, such as id created_at payload.stars")
    .option(
      "--after <id>",
      "only records stored after the record with this id, to resume a partial export or to get new records",
    )
    .option("--out <file>", "new file to write; without it, standard output")
    .action(exportFeedback);
}

async function exportFeedback(project: string, flags: ExportFlags): Promise<void> {
  const { out, format, fields, after } = flags;
  if (out !== undefined && existsSync(out)) throw invalid(`${out} exists; name a new file.`);
  const client = connect(flags);
  const project_id = await projectIdOf(client, project);
  const lines = await client.feedback.export({
    project_id,
    format,
    query: queryOf(project_id, flags),
    ...(fields === undefined ? {} : { fields: [...fields] }),
    ...(after === undefined ? {} : { after }),
  });
  if (out === undefined) {
    for await (const piece of lines)
      if (!process.stdout.write(piece)) await new Promise((drained) => process.stdout.once("drain", drained));
    return;
  }
  const file = resolve(out);
  await writeWhole(file, lines, (partial, cause) => {
    const why = cause instanceof Error ? cause.message : String(cause);
    // The complete lines that arrived are valid, so the message says how to export the records after them.
    const message = `The export was cut off (${why}). ${partial} has the records that arrived. Remove its last line if that is incomplete, and export the rest with --after <the id of its last record>.`;
    throw new ServiceError({ code: "unavailable", message, cause });
  });
  process.stdout.write(`wrote ${file}\n`);
}
