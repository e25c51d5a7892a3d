// `hone export` and `hone import` move the database between SQLite and PostgreSQL. `hone migrate` migrates it to this
// version of Hone.
import type { Command } from "commander";
import { printResult } from "../connection.ts";
import { formatAmount, fieldsOf } from "./backup-commands.ts";
import { addPlaceFlags, placeOf, withProgress, type ArchiveFlags } from "./with-progress.ts";

const aboutExport = `
The folder has the format of a backup, but without adapters and files, which stay in the data folder. It does not contain
rows that are written after the export starts. So to move a database, stop the server first.`;

export function addExportCommands(program: Command): void {
  addPlaceFlags(
    program
      .command("export <place>")
      .description("Export only the database to a folder, for import into SQLite or PostgreSQL."),
  )
    .addHelpText("after", aboutExport)
    .action(async (folder: string, flags: ArchiveFlags) => {
      const { exportDatabase } = await import("../../server/backup/archive-commands.ts");
      const ended = "Interrupted; the partial export was removed.";
      const manifest = await withProgress(ended, (watching) =>
        exportDatabase(folder, placeOf(flags), watching),
      );
      printResult(fieldsOf(folder, manifest), `exported ${formatAmount(manifest)} to ${folder}`, flags);
    });
  addPlaceFlags(
    program
      .command("import <place>")
      .description("Import an export or a backup into an empty database, which no server may be using."),
  ).action(async (folder: string, flags: ArchiveFlags) => {
    const { importDatabase } = await import("../../server/backup/archive-commands.ts");
    const ended = "Interrupted; the database is empty.";
    const manifest = await withProgress(ended, (watching) =>
      importDatabase(folder, placeOf(flags), watching),
    );
    const line = `imported ${formatAmount(manifest)} as of ${manifest.createdAt}`;
    printResult(fieldsOf(folder, manifest), line, flags);
  });
  addPlaceFlags(
    program
      .command("migrate")
      .description(
        "Migrate the database to this version of Hone, as the first start of a server of this version would. No server may be using the database.",
      ),
  )
    .option("--check", "only report whether a migration is needed; if so, the exit status is 1")
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
    ? `the database has version ${from}; \`hone migrate\` brings it to ${to}`
    : `migrated the database from version ${from} to ${to}`;
}
