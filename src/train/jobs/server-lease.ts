// This server's lease in the database. While the lease is valid, the server owns its jobs. A dead server cannot renew
// its lease; once the lease has expired, other servers may take over the jobs.
import { newUuid } from "../../base/domain/random.ts";
import { serviceOf, type Service } from "../../base/domain/lifecycle.ts";
import type { ServerStore } from "../../base/domain/servers/server-store.ts";
import type { SharedClock } from "../../base/domain/clock.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { repeatUntil } from "../../base/domain/waiting/repeat-until.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import { heartbeatMs, type JobSettings } from "./settings.ts";

export interface LeaseDependencies {
  /**
   * Object with the id under which this server has its lease in the database. If the server loses its lease,
   * `ServerLease` puts a new id into this object. If the object is absent, `ServerLease` creates one with a new id.
   */
  readonly identity?: { id: string };
  readonly servers: ServerStore;
  /** Base models on which this server can run jobs. */
  readonly baseModels: readonly string[];
  /** Id of the artifact storage that this server uses. */
  readonly artifacts: string;
  /**
   * Clock that all servers share, so that they agree on when a lease ends. The lease synchronizes it right before each
   * heartbeat.
   */
  readonly clock: SharedClock;
  readonly logger: Logger;
}

/**
 * If the machine's clock and the shared clock differ by more than this number of milliseconds, the server logs a
 * warning. The difference matters because some times, such as those in the log, come from the machine's clock.
 */
const offMsMax = 5000;

export class ServerLease implements Service {
  readonly #dependencies: LeaseDependencies;
  readonly #settings: Pick<JobSettings, "leaseMs">;
  readonly #life = serviceOf("server's lease", {
    start: async (signal) => {
      // Ignores errors such as a full disk, which must not prevent the server from starting.
      await this.#create().catch((error: unknown) => {
        if (error instanceof ServiceError && error.code === "conflict") throw error;
        this.#dependencies.logger.warn({ err: error }, notRenewed);
      });
      this.#renewing = this.#keepRenewing(signal);
    },
    stop: () => this.#end(),
  });
  readonly #identity: { id: string };
  #renewing: Promise<void> = Promise.resolve();
  #isOff = false;

  constructor(dependencies: LeaseDependencies, settings: Pick<JobSettings, "leaseMs">) {
    this.#dependencies = dependencies;
    this.#identity = dependencies.identity ?? { id: newUuid() };
    this.#settings = settings;
  }

  /**
   * Id under which this server owns jobs. If the lease is lost, the id changes, and jobs with the old id no longer
   * belong to this server.
   */
  get id(): string {
    return this.#identity.id;
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  /** Gives up the lease, so that other servers can immediately take the jobs that this server owned. */
  stop(): Promise<void> {
    return this.#life.stop();
  }

  async #create(): Promise<void> {
    const { servers, baseModels, artifacts, clock } = this.#dependencies;
    await this.#synchronize();
    await servers.create(this.id, { until: this.#until(1), baseModels, artifacts });
    if (!(await servers.keepsElsewhere(artifacts, clock.now()))) return;
    // Servers with different artifact storages cannot share a database, because they could not read the adapters of
    // each other's versions.
    await servers.delete(this.id);
    throw new ServiceError({ code: "conflict", message: keptElsewhere });
  }

  async #end(): Promise<void> {
    const { servers, logger } = this.#dependencies;
    await this.#renewing;
    await servers
      .delete(this.id)
      .catch((error: unknown) =>
        logger.warn({ err: error }, "the lease could not be returned; it will expire"),
      );
  }

  /** Returns the time that is `count` lease lengths from now. */
  #until(count: number): Date {
    return new Date(this.#dependencies.clock.now().getTime() + count * this.#settings.leaseMs);
  }

  #keepRenewing(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#dependencies;
    const onFault = (error: unknown): void => logger.warn({ err: error }, notRenewed);
    const repetition = { clock, pauseMs: heartbeatMs(this.#settings), onFault, pausesFirst: true };
    return repeatUntil(signal, repetition, () => this.#renew());
  }

  async #renew(): Promise<void> {
    const { servers, clock, logger } = this.#dependencies;
    await this.#synchronize();
    if (!(await servers.renew(this.id, this.#until(1)))) {
      logger.warn(
        {},
        "this server has no lease any more; others may have its jobs, and it goes on with a new one",
      );
      this.#identity.id = newUuid();
      await this.#create();
    }
    // Deletes expired leases only after renewing this server's own, which has expired if the machine slept. Also
    // deletes leases that end more than two lease lengths from now: they come from a clock that is more than one lease
    // length ahead.
    await servers.deleteExpired({ before: clock.now(), after: this.#until(2) });
  }

  async #synchronize(): Promise<void> {
    const { clock, logger } = this.#dependencies;
    await clock.synchronize();
    const aheadMs = Math.round(clock.aheadMs());
    const isOff = Math.abs(aheadMs) > offMsMax;
    if (isOff && !this.#isOff) logger.warn({ aheadMs }, clockIsOff);
    this.#isOff = isOff;
  }
}

const keptElsewhere =
  "Another server on this database keeps adapters and files in another place than this one. Give all of them one folder " +
  "(HONE_BLOBS). One that has just died counts as running for up to a minute.";

const clockIsOff =
  "this machine's clock is not that of the database, by which all servers on it go; set it right, as the log has its times";

const notRenewed = "this server's lease could not be renewed; trying again";
