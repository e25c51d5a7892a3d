// `hone backup`, `restore` and `verify`: a server's database, adapters and files, as they were at one moment.
import type { Command } from "commander";
import { sizeText } from "../../../base/domain/text/size-text.ts";
import type { Fault, Manifest } from "../../server/backup/archive-commands.ts";
import { printResult } from "../connection.ts";
import { addPlaceFlags, placeOf, watched, type ArchiveFlags } from "./watched.ts";

const aboutBackup = `
The server may run. What the database names at one moment is in the backup, whatever comes and goes meanwhile: read
docs/guides/backup.md for what is in it and what is not.`;

const aboutRestore = `
No server may run there; the database has to be empty, and the data folder without adapters and files of others. A backup of
SQLite is restored into PostgreSQL, and the other way round: --database-url says which.`;

export function addBackupCommands(program: Command): void {
  addPlaceFlags(
    program
      .command("backup <place>")
      .description(
        "Copy database, adapters and files of one moment into a folder or a bucket (s3://…), while the server runs.",
      ),
  )
    .addHelpText("after", aboutBackup)
    .action(async (folder: string, flags: ArchiveFlags) => {
      const { backup } = await import("../../server/backup/archive-commands.ts");
      const ended = "Ended; nothing of it is left.";
      const manifest = await watched(ended, (watching) => backup(folder, placeOf(flags), watching));
      printResult(fieldsOf(folder, manifest), `backed up ${amountOf(manifest)} to ${folder}`, flags);
      sayFaults(manifest.faults);
    });
  addPlaceFlags(
    program
      .command("restore <place>")
      .description("Put a backup into an empty database and data folder, where no server runs."),
  )
    .addHelpText("after", aboutRestore)
    .action(async (folder: string, flags: ArchiveFlags) => {
      const { restore } = await import("../../server/backup/archive-commands.ts");
      const ended = "Ended; the database is empty. The same command begins it anew.";
      const manifest = await watched(ended, (watching) => restore(folder, placeOf(flags), watching));
      const line = `restored ${amountOf(manifest)} as of ${manifest.createdAt}`;
      printResult(fieldsOf(folder, manifest), line, flags);
      sayFaults(manifest.faults);
    });
  addPlaceFlags(
    program
      .command("verify [place]")
      .description(
        "Read all of a backup, or of what a server keeps where none is named, and say what is wrong.",
      ),
  ).action(async (folder: string | undefined, flags: ArchiveFlags) => {
    const { verify } = await import("../../server/backup/archive-commands.ts");
    const faults: Fault[] = [];
    await watched("Ended; not all of it was read.", async (watching) => {
      for await (const fault of verify(folder ?? null, placeOf(flags), watching)) faults.push(fault);
    });
    if (flags.json === true) process.stdout.write(`${JSON.stringify(faults, null, 2)}\n`);
    else if (faults.length === 0) process.stdout.write("All is as it was stored.\n");
    else for (const { what, message } of faults) process.stdout.write(`${what}: ${message}\n`);
    if (faults.length > 0) process.exitCode = 1;
  });
}

/** What of a manifest is printed. */
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

/** For people. */
export function amountOf(manifest: Manifest): string {
  return `${rowCountOf(manifest)} rows and ${manifest.files} files, ${sizeText(manifest.bytes)},`;
}

function rowCountOf({ database }: Manifest): number {
  return database.tables.reduce((sum, { rows }) => sum + rows, 0);
}

/** What was wrong with what was copied: a script that makes backups is to notice. */
function sayFaults(faults: readonly Fault[]): void {
  for (const { message } of faults) process.stderr.write(`hone: ${message}\n`);
  if (faults.length > 0) process.exitCode = 1;
}
