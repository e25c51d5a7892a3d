// This server's lease on the database: what makes it the owner of what it runs, from its start to its stop. A server that
// dies renews it no more; the others, which each look for such leases, may then take what it had. Knows nothing of jobs.
import { newUuid } from "../../base/domain/random.ts";
import { serviceOf, type Service } from "../../base/domain/lifecycle.ts";
import type { ServerStore } from "../../base/domain/servers/server-store.ts";
import type { SharedClock } from "../../base/domain/clock.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import { heartbeatMs, type JobSettings } from "./settings.ts";

export interface LeaseDependencies {
  /** This server's id on the database, which a lease that was lost replaces; one is made unless given. */
  readonly identity?: { id: string };
  readonly servers: ServerStore;
  /** What this server can run jobs over. */
  readonly baseModels: readonly string[];
  /** The id of the place where it keeps its artifacts. */
  readonly artifacts: string;
  /** Set right before each sign of life, so that no two servers differ by what a lease is long. */
  readonly clock: SharedClock;
  readonly logger: Logger;
}

/** What a machine's clock may be off before it is said: other times are still taken from it, as those of the log. */
const offMsMax = 5000;

export class ServerLease implements Service {
  readonly #dependencies: LeaseDependencies;
  readonly #settings: Pick<JobSettings, "leaseMs">;
  readonly #life = serviceOf("server's lease", {
    start: async (signal) => {
      // A disk that is full now keeps nobody from being served.
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

  /** As what this server owns: another id after a lease was lost, whose jobs are then not its own any more. */
  get id(): string {
    return this.#identity.id;
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  /** Gives the lease back: what it still had is free at once. */
  stop(): Promise<void> {
    return this.#life.stop();
  }

  async #create(): Promise<void> {
    const { servers, baseModels, artifacts, clock } = this.#dependencies;
    await this.#synchronize();
    await servers.create(this.id, { until: this.#until(1), baseModels, artifacts });
    if (!(await servers.keepsElsewhere(artifacts, clock.now()))) return;
    // It would serve versions without their adapters, and the others those that it makes.
    await servers.delete(this.id);
    throw new ServiceError({ code: "conflict", message: keptElsewhere });
  }

  async #end(): Promise<void> {
    const { servers, logger } = this.#dependencies;
    await this.#renewing;
    await servers
      .delete(this.id)
      .catch((error: unknown) =>
        logger.warn({ err: error }, "the lease could not be given back; it runs out"),
      );
  }

  /** `count` leases from now. */
  #until(count: number): Date {
    return new Date(this.#dependencies.clock.now().getTime() + count * this.#settings.leaseMs);
  }

  async #keepRenewing(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#dependencies;
    while (!signal.aborted) {
      // A sleep rejects only when it is cut short, which the stop does.
      await clock.sleep(heartbeatMs(this.#settings), { signal }).catch(() => undefined);
      if (signal.aborted) return;
      await this.#renew().catch((error: unknown) => logger.warn({ err: error }, notRenewed));
    }
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
    // Its own first: a machine that slept finds its own expired. None that is given now ends later than two leases from now,
    // were its server's clock ahead by as much again.
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
