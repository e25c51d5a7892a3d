// Whether the database is still one that this program knows. A newer program that starts on it brings it to its own version
// while others run, and what those would write from then on may not be what it expects.
import type { Clock } from "../../domain/clock.ts";
import { serviceOf, type Service } from "../../domain/lifecycle.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { newestDatabaseVersion } from "../../storage/migrations/migrations.ts";
import type { Logger } from "../../telemetry/logger.ts";

/** Between two looks, in milliseconds: one row of one table. */
const lookMs = 1000;

export interface VersionWatchDependencies {
  readonly readVersion: () => Promise<number | null>;
  /** Called once, with `unsupported`; nothing is looked at from then on. */
  readonly onOutdated: (reason: ServiceError) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Looks from its start to its stop. */
export function createVersionWatch(dependencies: VersionWatchDependencies): Service {
  const stopping = new AbortController();
  let watching: Promise<void> = Promise.resolve();
  return serviceOf("watch of the database's version", {
    start: async () => void (watching = watch(dependencies, stopping.signal)),
    stop: async () => {
      stopping.abort();
      await watching;
    },
  });
}

async function watch(
  { readVersion, onOutdated, clock, logger }: VersionWatchDependencies,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    // A database that is away is said elsewhere.
    const version = await readVersion().catch(() => null);
    if (version !== null && version > newestDatabaseVersion) {
      const reason = outdated(version);
      logger.error({ version, known: newestDatabaseVersion }, reason.message);
      return onOutdated(reason);
    }
    // Cut short by the stop alone.
    await clock.sleep(lookMs, { signal }).catch(() => undefined);
  }
}

function outdated(version: number): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message: `A newer program has brought the database to version ${version}, and this one knows up to ${newestDatabaseVersion}. It takes no more work and ends, so that it writes nothing which the newer one does not expect. Its jobs go on there; upgrade this one.`,
  });
}
