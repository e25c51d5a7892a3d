// Removes expired data in small steps. If several servers share a database, only one of them sweeps at a time. The
// sweeper counts the removed data by kind and entity, in the log, in metrics and in the audit log.
import type { Clock } from "../../base/domain/clock.ts";
import { serviceOf, type Service } from "../../base/domain/lifecycle.ts";
import {
  type KeptKind,
  keptKinds,
  type RemovedData,
  type RetentionStore,
  type SweepPlace,
} from "../../base/domain/retention/retention-store.ts";
import type { AuditLog } from "../../base/telemetry/audit-log.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import type { Metrics } from "../../base/telemetry/metrics.ts";
import { type KeepPolicy, resolveLimits, type RetentionSettings } from "./settings.ts";

export interface SweeperDependencies {
  readonly store: RetentionStore;
  readonly policies: Readonly<Record<KeptKind, KeepPolicy>>;
  readonly settings: RetentionSettings;
  /** Returns the id of this server, under which other servers can see its lease. */
  readonly owner: () => string;
  /** Removes the data that dead servers on the same database left behind. */
  readonly clearDead: () => Promise<void>;
  /** Removes entries of the audit log that are older than `before`. */
  readonly trimAudit: (before: Date) => Promise<void>;
  readonly clock: Clock;
  readonly audit: Pick<AuditLog, "record">;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

export interface RemovedOfKind extends RemovedData {
  readonly kind: KeptKind;
}

/** The data that one sweep removed, or that a dry run would have removed. */
export interface SweepReport {
  readonly removed: readonly RemovedOfKind[];
  /** False if the time limit ended the sweep. */
  readonly isComplete: boolean;
}

export interface SweepOptions {
  readonly isDry: boolean;
  readonly signal?: AbortSignal;
  /** Time limit in seconds for each kind of data. If absent, the setting `kindSeconds` applies. */
  readonly kindSeconds?: number;
}

/** Removes expired data. While started, sweeps periodically. */
export interface Sweeper extends Service {
  /** Sweeps all kinds of data once. Returns null if another server is sweeping; a dry run runs even then. */
  sweep(options: SweepOptions): Promise<SweepReport | null>;
}

const dayMs = 86_400_000;

export function createSweeper(dependencies: SweeperDependencies): Sweeper {
  const { store, policies, settings, owner, clock, logger } = dependencies;
  const removed = countersOf(dependencies.metrics);

  const sweepKind = async (
    kind: KeptKind,
    { isDry, signal, kindSeconds = settings.kindSeconds }: SweepOptions,
  ): Promise<{ readonly sums: readonly RemovedOfKind[]; readonly isComplete: boolean }> => {
    const end = clock.monotonicMs() + kindSeconds * 1000;
    const sums = new Map<string, RemovedOfKind>();
    let from: SweepPlace | null = null;
    do {
      const at = clock.now();
      const step = await store.sweep(kind, resolveLimits(policies[kind], at), { from, isDry, at });
      for (const one of step.removed) {
        const { itemCount, byteCount } = sums.get(one.entity) ?? { itemCount: 0, byteCount: 0 };
        const sum = { itemCount: itemCount + one.itemCount, byteCount: byteCount + one.byteCount };
        sums.set(one.entity, { kind, entity: one.entity, ...sum });
      }
      from = step.next;
      if (from !== null) await clock.sleep(settings.stepPauseMs, { signal });
    } while (from !== null && clock.monotonicMs() < end);
    return { sums: [...sums.values()], isComplete: from === null };
  };

  const clear = async ({ signal, kindSeconds = settings.kindSeconds }: SweepOptions): Promise<boolean> => {
    const end = clock.monotonicMs() + kindSeconds * 1000;
    while (await store.clear()) {
      if (clock.monotonicMs() >= end) return false;
      await clock.sleep(settings.stepPauseMs, { signal });
    }
    return true;
  };

  const sweepAll = async (options: SweepOptions): Promise<SweepReport> => {
    const found: RemovedOfKind[] = [];
    let isComplete = true;
    for (const kind of keptKinds) {
      if (!options.isDry && !(await claim())) return { removed: found, isComplete: false };
      const { sums, isComplete: isKindComplete } = await sweepKind(kind, options);
      if (!options.isDry) for (const one of sums) tell(dependencies, removed, one);
      found.push(...sums);
      isComplete &&= isKindComplete;
    }
    if (!options.isDry) isComplete = (await clear(options)) && isComplete;
    return { removed: found, isComplete };
  };

  const claim = (): Promise<boolean> => {
    const at = clock.now();
    return store.claim(owner(), at, new Date(at.getTime() + settings.leaseSeconds * 1000));
  };

  /** Runs the sweeps of this server one after the other, because they share one lease. */
  let looking: Promise<unknown> = Promise.resolve();
  const sweep = (options: SweepOptions): Promise<SweepReport | null> => {
    if (options.isDry) return sweepAll(options);
    const look = looking.then(async () => {
      if (!(await claim())) return null;
      try {
        return await sweepAll(options);
      } finally {
        await store.release(owner());
      }
    });
    looking = look.catch(() => undefined);
    return look;
  };

  let sweeping: Promise<void> = Promise.resolve();
  const sweepAgain = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      try {
        const report = await sweep({ isDry: false, signal });
        if (report !== null) await dependencies.clearDead();
        if (settings.auditDays > 0)
          await dependencies.trimAudit(new Date(clock.now().getTime() - settings.auditDays * dayMs));
      } catch (error) {
        if (!signal.aborted) logger.warn({ err: error }, "expired data could not be removed; trying again");
      }
      // The sleep rejects only if the service stops.
      await clock.sleep(settings.sweepSeconds * 1000, { signal }).catch(() => undefined);
    }
  };
  return {
    ...serviceOf("retention", {
      start: async (signal) => {
        sweeping = sweepAgain(signal);
      },
      stop: async () => {
        await sweeping;
      },
    }),
    sweep,
  };
}

interface Counters {
  readonly items: ReturnType<Metrics["counter"]>;
  readonly bytes: ReturnType<Metrics["counter"]>;
}

function countersOf(metrics: Metrics): Counters {
  return {
    items: metrics.counter({
      name: "hone_retention_removed_total",
      help: "Logs, jobs' data, recorded completions and revisions that did not stay, as retention says.",
      labels: ["kind"],
    }),
    bytes: metrics.counter({
      name: "hone_retention_removed_bytes_total",
      help: "Their bytes.",
      labels: ["kind"],
    }),
  };
}

function tell(
  { logger, audit, clock }: SweeperDependencies,
  counters: Counters,
  { kind, entity, itemCount, byteCount }: RemovedOfKind,
): void {
  counters.items.increase({ kind }, itemCount);
  counters.bytes.increase({ kind }, byteCount);
  logger.info({ kind, entity, count: itemCount, bytes: byteCount }, "removed expired data");
  audit.record({
    time: clock.now(),
    keyId: null,
    entity,
    address: null,
    action: `retention: ${kind}`,
    outcome: "done",
    requestId: null,
    count: itemCount,
  });
}
