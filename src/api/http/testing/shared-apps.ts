// For tests: HTTP servers without state that tests use one after the other, because building the routes takes longer
// than most tests. A server's routes find each dependency anew whenever they use it, so each test has its own services.
import type { FastifyInstance } from "fastify";
import { assert } from "../../../base/domain/assert.ts";
import { announcedKinds } from "../../../base/domain/servers/pubsub.ts";
import type { Metrics } from "../../../base/telemetry/metrics.ts";
import { LocalAnnouncer } from "../../../store/database/pubsub/announcer.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { createHttpServer } from "../server.ts";

interface SharedApp {
  readonly app: FastifyInstance;
  readonly metrics: Metrics;
  /** Makes the routes use these dependencies. Returns a function that ends this. */
  readonly use: (dependencies: HttpDependencies) => () => void;
}

/** Servers that no test is using. */
const idle: SharedApp[] = [];

/** Returns a server with all routes, and a function that the test calls once it no longer uses the server. */
export async function takeApp(dependencies: HttpDependencies) {
  const shared = idle.pop() ?? (await buildApp(dependencies));
  const leave = shared.use(dependencies);
  const release = async (): Promise<void> => {
    const canBeShared = await isAsNew(shared);
    if (!canBeShared) await shared.app.close();
    leave();
    if (canBeShared) idle.push(shared);
  };
  return { app: shared.app, release };
}

/**
 * True if no test can notice that another one used the server: it does not listen, runs no request, and has refused no
 * credentials, which it would count for a minute.
 */
async function isAsNew({ app, metrics }: SharedApp): Promise<boolean> {
  const [running, answered] = ["hone_http_requests_in_flight", "hone_http_requests_total"];
  const samples = (await metrics.read([running, answered])).flatMap((reading) => reading.samples);
  const isTrace = ({ name, labels, value }: (typeof samples)[number]): boolean =>
    name === running ? value > 0 : ["401", "403", "429"].includes(String(labels["status"]));
  return !app.server.listening && !samples.some(isTrace);
}

async function buildApp(first: HttpDependencies): Promise<SharedApp> {
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
  return { app, metrics, use };
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
