// For tests: HTTP servers without state that tests use one after the other, because building the routes takes longer
// than most tests. A server's routes find each dependency anew whenever they use it, so each test has its own services.
// Tests share a server only if it has the same settings for both.
import type { FastifyInstance } from "fastify";
import { assert } from "../../../base/domain/assert.ts";
import { announcedKinds } from "../../../base/domain/servers/pubsub.ts";
import type { Metrics } from "../../../base/telemetry/metrics.ts";
import { LocalAnnouncer } from "../../../store/database/pubsub/announcer.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { createHttpServer } from "../server.ts";

interface SharedApp {
  readonly app: FastifyInstance;
  /** The settings with which the server was built, as a text. */
  readonly settings: string;
  readonly metrics: Metrics;
  /** Maximum number of refusals after which the server may still be shared. */
  readonly refusedMax: number;
  /** Makes the routes use these dependencies. Returns a function that ends this. */
  readonly use: (dependencies: HttpDependencies) => () => void;
}

/** Servers that no test is using. The one that was used last comes last. */
const idle: SharedApp[] = [];
/** Maximum number of idle servers. It is small, because each takes megabytes, and tests of a file follow each other. */
const idleMax = 4;

/** Returns a server with all routes, and a function that the test calls once it no longer uses the server. */
export async function takeApp(dependencies: HttpDependencies) {
  const settings = settingsOf(dependencies);
  const index = idle.findLastIndex((shared) => shared.settings === settings);
  const shared = idle.splice(index, index < 0 ? 0 : 1)[0] ?? (await buildApp(dependencies, settings));
  const leave = shared.use(dependencies);
  const release = async (): Promise<void> => {
    const canBeShared = await isAsNew(shared);
    if (!canBeShared) await shared.app.close();
    leave();
    if (canBeShared) idle.push(shared);
    if (idle.length > idleMax) await idle.shift()?.app.close();
  };
  return { app: shared.app, release };
}

/** Returns the dependencies that the server may read while it is built, as a text: its settings, and other plain values. */
function settingsOf(dependencies: HttpDependencies): string {
  const isPlain = (value: unknown): boolean => Object(value) !== value;
  return JSON.stringify(
    Object.entries(dependencies).filter(([name, value]) => name === "settings" || isPlain(value)),
  );
}

/**
 * True if no test can notice that another one used the server: it does not listen, runs no request, and has refused so
 * few credentials that the next test is far from the limit, which applies for a minute.
 */
async function isAsNew({ app, metrics, refusedMax }: SharedApp): Promise<boolean> {
  const [running, answered] = ["hone_http_requests_in_flight", "hone_http_requests_total"];
  const samples = (await metrics.read([running, answered])).flatMap((reading) => reading.samples);
  const sumOf = (isCounted: (sample: (typeof samples)[number]) => boolean): number =>
    samples.filter(isCounted).reduce((sum, { value }) => sum + value, 0);
  const runningCount = sumOf(({ name }) => name === running);
  const refusedCount = sumOf(({ labels }) => ["401", "403", "429"].includes(String(labels["status"])));
  return !app.server.listening && runningCount === 0 && refusedCount <= refusedMax;
}

async function buildApp(first: HttpDependencies, settings: string): Promise<SharedApp> {
  let current: HttpDependencies | null = null;
  const announcer = new LocalAnnouncer();
  const { metrics } = first;
  const kept: Partial<HttpDependencies> = { metrics, announcements: announcer };
  const find = (): HttpDependencies => current ?? first;
  const app = await createHttpServer(
    new Proxy(first, {
      get: (_, name) => Reflect.get(kept, name) ?? forwarded(find, name),
    }),
  );
  const use = (dependencies: HttpDependencies): (() => void) => {
    assert(current === null, "one test at a time uses a server");
    current = dependencies;
    const unlistened = announcedKinds.map((kind) =>
      dependencies.announcements.listen(kind, (id) => announcer.announce(kind, id ?? "")),
    );
    return () => {
      current = null;
      for (const unlisten of unlistened) unlisten();
    };
  };
  const refusedMax = Math.floor(first.settings.failedLoginsPerMinute / 3);
  return { app, settings, metrics, refusedMax, use };
}

/** Returns a member of the object that `find` finds. Its methods, and those of its members, find that object anew. */
function forwarded(find: () => object, name: PropertyKey): unknown {
  const value: unknown = Reflect.get(find(), name);
  if (typeof value === "function")
    // Safe cast: the member with this name is a method of each object that `find` finds.
    return (...values: unknown[]) =>
      Reflect.apply(Reflect.get(find(), name) as () => unknown, find(), values);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  // Safe cast: as above.
  return new Proxy(value, {
    get: (_, member) => forwarded(() => Reflect.get(find(), name) as object, member),
  });
}
