// Watches whether this program still supports the database. A newer program that starts on the same database migrates
// it while older programs run. If the migration only adds tables or columns, older programs continue; otherwise they
// must stop, because their writes could be wrong.
import type { Clock } from "../../../base/domain/clock.ts";
import { serviceOf, type Service } from "../../../base/domain/lifecycle.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import {
  type DatabaseVersion,
  newestDatabaseVersion,
} from "../../../store/database/migrations/migrations.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";

/** Interval between reads of the database version (one row), in milliseconds. */
const lookMs = 1000;

export interface VersionWatchDependencies {
  readonly readVersion: () => Promise<DatabaseVersion | null>;
  /** True if several servers may use the database; false if its version cannot change while this server runs. */
  readonly isForMany: boolean;
  /**
   * Called once, with an error `unsupported`, when this program no longer supports the database; the watch then ends.
   */
  readonly onOutdated: (reason: ServiceError) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Watches the database version between its start and its stop. */
export interface VersionWatch extends Service {
  /**
   * Returns a warning if a newer program has migrated the database to a version that this program can still use;
   * otherwise null.
   */
  note(): string | null;
}

export function createVersionWatch(dependencies: VersionWatchDependencies): VersionWatch {
  const stopping = new AbortController();
  let watching: Promise<void> = Promise.resolve();
  let note: string | null = null;
  const onNewer = (found: DatabaseVersion): void => {
    const said = newer(found);
    if (said === note) return;
    note = said;
    dependencies.logger.warn({ ...found, known: newestDatabaseVersion }, said);
  };
  return {
    ...serviceOf("watch of the database's version", {
      start: async () => void (watching = watch(dependencies, onNewer, stopping.signal)),
      stop: async () => {
        stopping.abort();
        await watching;
      },
    }),
    note: () => note,
  };
}

async function watch(
  { readVersion, isForMany, onOutdated, clock, logger }: VersionWatchDependencies,
  onNewer: (found: DatabaseVersion) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    // An unreachable database is reported by a separate check.
    const found = await readVersion().catch(() => null);
    if (found !== null && found.servesFrom > newestDatabaseVersion) {
      const reason = outdated(found);
      logger.error({ ...found, known: newestDatabaseVersion }, reason.message);
      return onOutdated(reason);
    }
    if (found !== null && found.version > newestDatabaseVersion) onNewer(found);
    if (found !== null && !isForMany) return;
    // Rejects only if the stop interrupts the sleep.
    await clock.sleep(lookMs, { signal }).catch(() => undefined);
  }
}

function newer({ version }: DatabaseVersion): string {
  return `A newer program migrated the database to version ${version}; this one knows up to ${newestDatabaseVersion}. It continues, because the migration only adds; upgrade it too.`;
}

function outdated({ version }: DatabaseVersion): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message: `A newer program migrated the database to version ${version}; this one knows up to ${newestDatabaseVersion}. It accepts no more work and exits, so that it writes nothing that the newer one does not expect. Its jobs continue there; upgrade this one.`,
  });
}
