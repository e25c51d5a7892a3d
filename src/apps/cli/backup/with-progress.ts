// Runs a command that reads or writes an archive, with a progress display and handling of Ctrl-C.
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Command } from "commander";
import type { PlaceFlags, Watching } from "../../server/backup/archive-commands.ts";
import { ArchiveScreen } from "./archive-screen.ts";

export interface ArchiveFlags {
  readonly data?: string;
  readonly databaseUrl?: string;
  readonly blobs?: string;
  readonly json?: boolean;
}

/** Adds the flags that specify a database and its data folder. */
export function addPlaceFlags(command: Command): Command {
  return command
    .option("--data <folder>", "the server's data folder (HONE_DATA; default .hone)")
    .option("--database-url <url>", "the server's database, if not in the data folder (HONE_DATABASE_URL)")
    .option(
      "--blobs <place>",
      "folder or bucket of the server's adapters and files, if not in the data folder (HONE_BLOBS)",
    )
    .option("--json", "print JSON");
}

export function placeOf({ data, databaseUrl, blobs }: ArchiveFlags): PlaceFlags {
  return {
    ...(data !== undefined && { data }),
    ...(databaseUrl !== undefined && { "database-url": databaseUrl }),
    ...(blobs !== undefined && { blobs }),
  };
}

/**
 * Runs `work` and shows its progress on standard error.
 *
 * @param ended error message if the user interrupts the work
 */
export async function withProgress<Result>(
  ended: string,
  work: (watching: Watching) => Promise<Result>,
): Promise<Result> {
  const screen = new ArchiveScreen(process.stderr);
  const controller = new AbortController();
  const stop = (): void => controller.abort(new ServiceError({ code: "cancelled", message: ended }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  try {
    return await work({ report: (progress) => screen.show(progress), signal: controller.signal });
  } finally {
    screen.end();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, stop);
  }
}
