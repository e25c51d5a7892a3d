// `hone backup` writes a consistent snapshot of a server's database, adapters and files. `hone restore` restores it,
// and `hone verify` checks it.
import type { Command } from "commander";
import { sizeText } from "../../../base/domain/text/size-text.ts";
import type { Fault, Manifest } from "../../server/backup/archive-commands.ts";
import { printResult } from "../connection.ts";
import { addPlaceFlags, placeOf, withProgress, type ArchiveFlags } from "./with-progress.ts";
import { printJson } from "../json-output.ts";

const aboutBackup = `
The server may continue to run. The backup is a consistent snapshot, which concurrent writes do not affect.
docs/guides/backup.md lists the contents of a backup.`;

const aboutRestore = `
No server may use the target. Its database must be empty, and its data folder must contain no adapters or files. You can
restore a backup of SQLite into PostgreSQL and vice versa: --database-url names the target.`;

export function addBackupCommands(program: Command): void {
  addPlaceFlags(
    program
      .command("backup <place>")
      .description(
        "Back up database, adapters and files to a folder or a bucket (s3://…) while the server runs.",
      ),
  )
    .addHelpText("after", aboutBackup)
    .action(async (folder: string, flags: ArchiveFlags) => {
      const { backup } = await import("../../server/backup/archive-commands.ts");
      const ended = "Interrupted; the partial backup was removed.";
      const manifest = await withProgress(ended, (watching) => backup(folder, placeOf(flags), watching));
      printResult(fieldsOf(folder, manifest), `backed up ${formatAmount(manifest)} to ${folder}`, flags);
      printFaults(manifest.faults);
    });
  addPlaceFlags(
    program
      .command("restore <place>")
      .description("Restore a backup into an empty database and data folder, which no server may be using."),
  )
    .addHelpText("after", aboutRestore)
    .action(async (folder: string, flags: ArchiveFlags) => {
      const { restore } = await import("../../server/backup/archive-commands.ts");
      const ended = "Interrupted; the database is empty. Run the same command to start over.";
      const manifest = await withProgress(ended, (watching) => restore(folder, placeOf(flags), watching));
      const line = `restored ${formatAmount(manifest)} as of ${manifest.createdAt}`;
      printResult(fieldsOf(folder, manifest), line, flags);
      printFaults(manifest.faults);
    });
  addPlaceFlags(
    program
      .command("verify [place]")
      .description("Verify a backup, or without an argument the server's own data, and report damage."),
  ).action(async (folder: string | undefined, flags: ArchiveFlags) => {
    const { verify } = await import("../../server/backup/archive-commands.ts");
    const faults: Fault[] = [];
    await withProgress("Interrupted; the rest was not verified.", async (watching) => {
      for await (const fault of verify(folder ?? null, placeOf(flags), watching)) faults.push(fault);
    });
    if (flags.json === true) printJson(faults, flags);
    else if (faults.length === 0) process.stdout.write("No damage found.\n");
    else for (const { what, message } of faults) process.stdout.write(`${what}: ${message}\n`);
    if (faults.length > 0) process.exitCode = 1;
  });
}

/** Returns the fields of a manifest in the form in which commands print them. */
export function fieldsOf(folder: string, manifest: Manifest): Readonly<Record<string, unknown>> {
  const { createdAt, program, content, database, files, bytes, faults } = manifest;
  const { kind, version } = database;
  return {
    folder,
    content,
    created_at: createdAt,
    program,
    database: { kind, version },
    rows: rowCountOf(manifest),
    files,
    bytes,
    faults,
  };
}

/** Formats the number of rows and files in an archive, and its size. */
export function formatAmount(manifest: Manifest): string {
  return `${rowCountOf(manifest)} rows and ${manifest.files} files, ${sizeText(manifest.bytes)},`;
}

function rowCountOf({ database }: Manifest): number {
  return database.tables.reduce((sum, { rows }) => sum + rows, 0);
}

/** Prints the faults of a backup, and sets exit status 1 so that a backup script notices them. */
function printFaults(faults: readonly Fault[]): void {
  for (const { message } of faults) process.stderr.write(`hone: ${message}\n`);
  if (faults.length > 0) process.exitCode = 1;
}
