// A command that works with an archive: what it shows meanwhile, and that it is ended by a key.
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

/** Adds the flags that say whose database and data folder it is. */
export function addPlaceFlags(command: Command): Command {
  return command
    .option("--data <folder>", "the server's data folder (HONE_DATA; default .hone)")
    .option("--database-url <url>", "its database, if not in the data folder (HONE_DATABASE_URL)")
    .option("--blobs <place>", "its adapters and files, if not in the data folder (HONE_BLOBS)")
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
 * Shows how far `work` is, beside what is printed.
 *
 * @param ended what is said where it is ended by a key
 */
export async function watched<Result>(
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
