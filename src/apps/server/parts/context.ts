// Builds what all other parts need: logs, metrics, the port, the database, the audit log and the folders.
import { openArtifacts } from "../../../store/artifacts/open-artifacts.ts";
import { storeEnvironment } from "../../../store/artifacts/s3/bucket-client.ts";
import { ServerFolder } from "../../../store/artifacts/server-folder.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { newUuid } from "../../../base/domain/random.ts";
import { serviceOf, type Service } from "../../../base/domain/lifecycle.ts";
import type { ServiceError } from "../../../base/domain/service-error.ts";
import { createAuditLog } from "../../../base/telemetry/audit-log.ts";
import { createLogger, logFormat, type LogStyle } from "../../../base/telemetry/logger.ts";
import { createMetrics } from "../../../base/telemetry/metrics.ts";
import { startOpenTelemetry } from "../../../base/telemetry/open-telemetry/open-telemetry.ts";
import { RecentLog } from "../../../base/telemetry/recent-log.ts";
import { standardStream } from "../../../base/telemetry/standard-streams.ts";
import { requireServed } from "../../../inference/onnx/served-platform.ts";
import { artifactPlaceOf } from "../artifact-place.ts";
import { auditedKeys, auditFile } from "../audit-keys.ts";
import { settleChildEnvironment } from "../bases/prestart-engines.ts";
import { createVersionWatch } from "../checks/version-watch.ts";
import { addToChildEnvironment, type HoneConfig } from "../config.ts";
import { databasePlace } from "../database-place.ts";
import { ensureFirstKey } from "../first-key.ts";
import { createListener } from "../listener.ts";
import { packageVersion } from "../package.ts";
import { keepDataPrivate, keepNewFilesPrivate } from "../private-files.ts";
import type { WholeSettings } from "../settings.ts";

/** Starts a part and registers it to be stopped; parts are stopped in reverse order. */
export type Start = (part: Service) => Promise<void>;

export type ServerContext = Awaited<ReturnType<typeof buildContext>>;

export async function buildContext(
  config: HoneConfig,
  settings: WholeSettings,
  { start, onOutdated }: { readonly start: Start; readonly onOutdated: (reason: ServiceError) => void },
) {
  // Called before anything is written, because even the first parts write to caches.
  keepNewFilesPrivate();
  requireServed();
  settleChildEnvironment();
  const { host, port, data, roles } = settings.server;
  const artifactPlace = artifactPlaceOf(config);
  if (artifactPlace.kind === "bucket") addToChildEnvironment(storeEnvironment);
  const log: LogStyle = { level: settings.server.logLevel, format: logFormat(settings.server.logFormat) };
  const recentLog = new RecentLog();
  const logger = createLogger(log, recentLog);
  const metrics = createMetrics({ processMetrics: true });
  metrics.countedElsewhere(
    {
      name: "hone_log_lines_dropped_total",
      help: "Log lines dropped because the program that reads the server's output was too slow, or writing the log failed.",
    },
    () => [{ value: standardStream(2).droppedCount }],
  );
  const version = packageVersion();
  const clock = systemClock;
  const telemetry = await startOpenTelemetry(config.openTelemetry, { version, clock, metrics, logger });
  // Telemetry starts first and therefore stops last, so that it also traces how the other parts stop.
  await start(telemetry);
  // Listens before anything is opened or loaded. A port conflict is thus found immediately, and requests are answered
  // during the start, with the message that the server is starting.
  const listener = createListener({ host, port });
  await start(listener);
  const place = databasePlace(config);
  const blobs = artifactPlace.kind === "folder" ? artifactPlace.root : data;
  await keepDataPrivate({ data, blobs, database: place }, logger);
  const database = await place.open({
    isShared: false,
    onChange: (fault) =>
      fault === null
        ? logger.warn({ database: place.name }, "the database is back")
        : logger.error({ database: place.name, fault }, "the database is unreachable; retrying"),
  });
  await start(serviceOf("database", { stop: () => database.close() }));
  const readVersion = () => database.version();
  const { isForMany } = place;
  const versionWatch = createVersionWatch({ readVersion, isForMany, onOutdated, clock, logger });
  await start(versionWatch);
  const audit = createAuditLog(auditFile(settings), logger);
  await start(audit);
  metrics.gauge(
    {
      name: "hone_audit_log_failing",
      help: "1 while the audit log cannot be written, so that changes are refused; 0 otherwise.",
    },
    () => [{ value: audit.fault() === null ? 0 : 1 }],
  );
  const keys = auditedKeys(database.keys, (entry) => audit.recordDurably(entry), database.clock);
  const identity = { id: newUuid() };
  const server = (): string => identity.id;
  return {
    settings,
    version,
    /** Name and version of this build, reported to other servers and to receivers of webhooks. */
    build: `hone-${version}`,
    listener,
    place,
    database,
    /** Key store of the database, wrapped so that the audit log records changes. */
    keys,
    firstKey: await ensureFirstKey({ keys, settings: settings.server, clock: database.clock, logger }),
    artifactPlace,
    artifacts: openArtifacts(artifactPlace, { server }),
    folder: new ServerFolder({ root: data, server }),
    /** This server's id in the database. If the server loses its lease, it continues with a new id. */
    identity,
    server,
    log,
    recentLog,
    telemetry,
    audit,
    databaseNote: () => versionWatch.note(),
    isServing: roles.includes("serve"),
    /** State of the start, written by the composition root; `isUp` is true once warm-up has finished. */
    progress: { isUp: false, isDraining: false, address: { host, port } },
    /** Clock, metrics and logger, which most parts need. */
    tools: { clock: database.clock, metrics, logger },
    warn: (message: string) => (error: unknown) => logger.warn({ err: error }, message),
  };
}
