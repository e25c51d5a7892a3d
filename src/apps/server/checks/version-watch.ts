// Whether the database is still one that this program works on. A newer program that starts on it brings it to its own version
// while others run. Where what came with that only adds, they go on beside it; else what they would write from then on may not
// be what it expects.
import type { Clock } from "../../../base/domain/clock.ts";
import { serviceOf, type Service } from "../../../base/domain/lifecycle.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import {
  type DatabaseVersion,
  newestDatabaseVersion,
} from "../../../store/database/migrations/migrations.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";

/** Between two looks, in milliseconds: one row of one table. */
const lookMs = 1000;

export interface VersionWatchDependencies {
  readonly readVersion: () => Promise<DatabaseVersion | null>;
  /** Whether other programs may be on the database; else its version stays what it is at the start. */
  readonly isForMany: boolean;
  /** Called once, with `unsupported`; nothing is looked at from then on. */
  readonly onOutdated: (reason: ServiceError) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Looks from its start to its stop. */
export interface VersionWatch extends Service {
  /** That the database is a newer program's, on which this one goes on; null where it is this one's. For people. */
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
    // A database that is away is said elsewhere.
    const found = await readVersion().catch(() => null);
    if (found !== null && found.servesFrom > newestDatabaseVersion) {
      const reason = outdated(found);
      logger.error({ ...found, known: newestDatabaseVersion }, reason.message);
      return onOutdated(reason);
    }
    if (found !== null && found.version > newestDatabaseVersion) onNewer(found);
    if (found !== null && !isForMany) return;
    // Cut short by the stop alone.
    await clock.sleep(lookMs, { signal }).catch(() => undefined);
  }
}

function newer({ version }: DatabaseVersion): string {
  return `A newer program has brought the database to version ${version}, and this one knows up to ${newestDatabaseVersion}. It goes on beside it, since what came with that only adds; upgrade it in its turn.`;
}

function outdated({ version }: DatabaseVersion): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message: `A newer program has brought the database to version ${version}, and this one knows up to ${newestDatabaseVersion}. It takes no more work and ends, so that it writes nothing which the newer one does not expect. Its jobs go on there; upgrade this one.`,
  });
}
