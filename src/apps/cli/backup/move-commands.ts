// `hone export`, `import` and `migrate`: the database alone, from one kind to the other, and from one version to the next.
import type { Command } from "commander";
import { printResult } from "../connection.ts";
import { amountOf, fieldsOf } from "./backup-commands.ts";
import { addPlaceFlags, placeOf, watched, type ArchiveFlags } from "./watched.ts";

const aboutExport = `
The folder is as a backup has it, without adapters and files: these stay in the data folder. What is written behind the export
is not in it, so stop the server first where the database is to move.`;

export function addMoveCommands(program: Command): void {
  addPlaceFlags(
    program
      .command("export <place>")
      .description("Copy the database alone into a folder, for another database of either kind."),
  )
    .addHelpText("after", aboutExport)
    .action(async (folder: string, flags: ArchiveFlags) => {
      const { exportDatabase } = await import("../../server/backup/archive-commands.ts");
      const ended = "Ended; nothing of it is left.";
      const manifest = await watched(ended, (watching) => exportDatabase(folder, placeOf(flags), watching));
      printResult(fieldsOf(folder, manifest), `exported ${amountOf(manifest)} to ${folder}`, flags);
    });
  addPlaceFlags(
    program
      .command("import <place>")
      .description("Fill an empty database with an export or a backup, where no server runs."),
  ).action(async (folder: string, flags: ArchiveFlags) => {
    const { importDatabase } = await import("../../server/backup/archive-commands.ts");
    const ended = "Ended; the database is empty.";
    const manifest = await watched(ended, (watching) => importDatabase(folder, placeOf(flags), watching));
    const line = `imported ${amountOf(manifest)} as of ${manifest.createdAt}`;
    printResult(fieldsOf(folder, manifest), line, flags);
  });
  addPlaceFlags(
    program
      .command("migrate")
      .description("Bring the database to this version of Hone, as the first start does; no server may run."),
  )
    .option("--check", "only say whether there is anything to do; the status is 1 where there is")
    .action(async (flags: ArchiveFlags & { readonly check?: boolean }) => {
      const { migrateDatabase } = await import("../../server/backup/archive-commands.ts");
      const isChecked = flags.check === true;
      const { from, to } = await migrateDatabase(placeOf(flags), isChecked);
      printResult({ from, to, is_done: from === to || !isChecked }, lineOf(from, to, isChecked), flags);
      if (isChecked && from !== to) process.exitCode = 1;
    });
}

function lineOf(from: number, to: number, isChecked: boolean): string {
  if (from === to) return `the database has version ${to}, the newest`;
  return isChecked
    ? `the database has version ${from}; this program brings it to ${to}`
    : `the database had version ${from}, and has ${to} now`;
}
